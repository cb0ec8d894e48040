# shellcheck shell=bash
# Completion of holdfast(1) for bash; printed by: holdfast completion bash
_holdfast_options() {
	case $1 in
	run) printf '%s' '--also --command --nonblock --timeout --conflict-exit-code --exclusive --shared --slots --lease --close --no-fork --unlock --why --master-wait --skip-ok --on-lost --kill-after --max-run --min-hold --status-fd --token-file --quiet --verbose --socket --help --version ' ;;
	lock) printf '%s' '--nonblock --timeout --conflict-exit-code --exclusive --shared --slots --lease --why --master-wait --skip-ok --pid --token-file --json --quiet --verbose --socket --help --version ' ;;
	unlock) printf '%s' '--pid --token --json --quiet --verbose --socket --help --version ' ;;
	hold) printf '%s' '--nonblock --timeout --conflict-exit-code --exclusive --shared --slots --lease --why --master-wait --skip-ok --token-file --json --quiet --verbose --socket --help --version ' ;;
	check) printf '%s' '--pid --token --json --quiet --verbose --socket --help --version ' ;;
	latch) printf '%s' '--lease --json --quiet --verbose --socket --help --version ' ;;
	await) printf '%s' '--nonblock --timeout --conflict-exit-code --json --quiet --verbose --socket --help --version ' ;;
	ls) printf '%s' '--here --json --quiet --verbose --socket --help --version ' ;;
	show) printf '%s' '--here --json --quiet --verbose --socket --help --version ' ;;
	history) printf '%s' '--here --json --quiet --verbose --socket --help --version ' ;;
	sessions) printf '%s' '--here --json --quiet --verbose --socket --help --version ' ;;
	fleet) printf '%s' '--json --quiet --verbose --socket --help --version ' ;;
	watch) printf '%s' '--level --event --json --quiet --verbose --socket --help --version ' ;;
	top) printf '%s' '--batch --iterations --delay --sort --quiet --verbose --socket --help --version ' ;;
	ping) printf '%s' '--json --quiet --verbose --socket --help --version ' ;;
	health) printf '%s' '--timeout --warning --critical --json --quiet --verbose --socket --help --version ' ;;
	doctor) printf '%s' '--json --quiet --verbose --socket --help --version ' ;;
	info) printf '%s' '--json --quiet --verbose --socket --help --version ' ;;
	break) printf '%s' '--token --here --json --quiet --verbose --socket --help --version ' ;;
	drain) printf '%s' '--timeout --begin --json --quiet --verbose --socket --help --version ' ;;
	restart) printf '%s' '--json --quiet --verbose --socket --help --version ' ;;
	loglevel) printf '%s' '--json --quiet --verbose --socket --help --version ' ;;
	masters) printf '%s' '--json --quiet --verbose --socket --help --version ' ;;
	bench) printf '%s' '--clients --names --seconds --durable --json --quiet --verbose --socket --help --version ' ;;
	completion) printf '%s' '--quiet --verbose --help --version ' ;;
	esac
}

_holdfast_names() {
	local name
	while IFS= read -r name; do
		[[ $name == "$1"* ]] && COMPREPLY+=("$(printf %q "$name")")
	done < <(holdfast ls -q 2>/dev/null)
}

_holdfast() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local verb='' i=1
	COMPREPLY=()
	while ((i < COMP_CWORD)); do
		case ${COMP_WORDS[i]} in
		--also | -c | --command | -w | --timeout | --warning | --critical | -E | --conflict-exit-code | -N | --slots | -t | --lease | --why | --master-wait | --on-lost | --kill-after | --max-run | --min-hold | --status-fd | --pid | --token-file | --token | --clients | --names | --seconds | --level | --event | --iterations | -d | --delay | --sort | -S | --socket) ((i++)) ;;
		-*) ;;
		*) break ;;
		esac
		((i++))
	done
	if ((i < COMP_CWORD)); then
		verb=${COMP_WORDS[i]}
		((i++))
	fi
	while ((i < COMP_CWORD)); do
		case ${COMP_WORDS[i]} in
		--also | -c | --command | -w | --timeout | --warning | --critical | -E | --conflict-exit-code | -N | --slots | -t | --lease | --why | --master-wait | --on-lost | --kill-after | --max-run | --min-hold | --status-fd | --pid | --token-file | --token | --clients | --names | --seconds | --level | --event | --iterations | -d | --delay | --sort | -S | --socket) ((i++)) ;;
		-*) ;;
		*) break ;;
		esac
		((i++))
	done
	if [ "$verb" = run ] && ((i < COMP_CWORD)); then
		((i++))
		[ "${COMP_WORDS[i]}" != -- ] || ((i == COMP_CWORD)) || ((i++))
		if declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		elif ((i == COMP_CWORD)); then
			mapfile -t COMPREPLY < <(compgen -c -- "$word")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
		fi
		return
	fi
	case $before in
	--on-lost)
		mapfile -t COMPREPLY < <(compgen -W 'term kill warn signal:' -- "$word")
		return
		;;
	--level)
		mapfile -t COMPREPLY < <(compgen -W 'debug info warning error' -- "$word")
		return
		;;
	--sort)
		mapfile -t COMPREPLY < <(compgen -W 'waiters longest held name' -- "$word")
		return
		;;
	--token-file | -S | --socket)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	--also | -c | --command | -w | --timeout | --warning | --critical | -E | --conflict-exit-code | -N | --slots | -t | --lease | --why | --master-wait | --kill-after | --max-run | --min-hold | --status-fd | --pid | --token | --clients | --names | --seconds | --event | --iterations | -d | --delay) return ;;
	esac
	if [ -z "$verb" ]; then
		mapfile -t COMPREPLY < <(compgen -W 'run lock unlock hold check latch await ls show history sessions fleet watch top ping health doctor info break drain restart loglevel masters bench completion --also --command --nonblock --timeout --warning --critical --conflict-exit-code --exclusive --shared --slots --lease --close --no-fork --unlock --why --master-wait --skip-ok --on-lost --kill-after --max-run --min-hold --status-fd --pid --token-file --token --clients --names --seconds --durable --here --begin --level --event --batch --iterations --delay --sort --json --quiet --verbose --socket --help --version' -- "$word")
		return
	fi
	case $word in
	-*)
		mapfile -t COMPREPLY < <(compgen -W "$(_holdfast_options "$verb")" -- "$word")
		return
		;;
	esac
	case $verb in
	loglevel) mapfile -t COMPREPLY < <(compgen -W 'debug info warning error' -- "$word") ;;
	masters) mapfile -t COMPREPLY < <(compgen -W 'status replace add abort forget' -- "$word") ;;
	bench) mapfile -t COMPREPLY < <(compgen -W 'uncontended contended mixed' -- "$word") ;;
	completion) mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- "$word") ;;
	run | lock | unlock | hold | check | latch | await | ls | show | watch | break)
		((i < COMP_CWORD)) || _holdfast_names "$word"
		;;
	esac
}
complete -F _holdfast holdfast
