#!/bin/bash
# A script that uses the command line as holdfast(1) says: it does what it is told line by line. `player.sh run` takes a lock for a
# command under `holdfast run`, which is this script again; `player.sh lock` takes it for itself, with `holdfast lock`.
#
# The command is asked through a fifo. A question that it has not answered when it ends is answered by how `run` ended: it has a file
# until then.

set -u
program=$HOLDFAST
say() { printf '%s\n' "$*"; }

# Sets a variable to a text without its %XX.
decode() { printf -v "$1" '%b' "${2//%/\\x}"; }

seconds() {
	case $1 in
	forever) echo 999999999d ;;
	long) echo 366d ;;
	*) echo "$1" ;;
	esac
}

# The words for an exit status and the last line of standard error; the third argument is the reason of a loss, if it is known.
outcome() {
	local text=${2#holdfast: } code='' word=other
	[[ $text =~ ^[^:]*:\ ([A-Z]+):\  ]] && code=${BASH_REMATCH[1]}
	case $1 in
	0) say ok && return ;;
	64) word=invalid ;;
	69 | 77 | 78) word=unreachable ;;
	75) [[ $text == *", the wait is over"* ]] && word=timeout || word=busy ;;
	76) [[ $text =~ LOST:\ ([a-z]+) ]] && word=lost:${BASH_REMATCH[1]} || word=lost:${3-} ;;
	esac
	[ "$code" = '' ] || [ "$code" = LOST ] || word=refused:$code
	case $1 in
	69 | 75 | 76) say "$word 1 $text" ;; # sysexits(3): try again
	*) say "$word 0 $text" ;;
	esac
}

# Asks about the lock, and says the answer: ID, the verb, and what tells `holdfast check` which lock it is.
look() {
	local id=$1 verb=$2 text
	shift 2
	if [ "$verb" = valid ]; then
		[[ $("$program" check --json "$@") =~ \"valid_ms\":([0-9]+) ]] && say "$id valid ${BASH_REMATCH[1]}"
	else
		text=$("$program" check "$@" 2>&1)
		say "$id check $(outcome $? "$text")"
	fi
}

# What a command under `run` does. Its end gives the lock back.
inside() {
	local folder=$1 id=$2 verb number
	: >"$folder/$id.held"
	say "$id lock held $HOLDFAST_TOKEN"
	while read -r verb number <&8 && [ "$verb" != unlock ]; do
		look "$id" "$verb" "$HOLDFAST_NAME"
		rm "$folder/$id.open.$number"
	done 8<>"$folder/$id.asked"
}

# `run` of ID has ended with this status, and this was its last line.
ended_run() {
	local id=$1 reason words verb
	reason=$(sed -n 's/.*"reason":"\([a-z]*\)".*/\1/p' "$folder/$id.record")
	words=$(outcome "$2" "$3" "$reason")
	if [ ! -e "$folder/$id.held" ]; then
		say "$id lock $words"
		return
	fi
	[ "$2" != 76 ] || say "$id told $reason"
	for verb in "$folder/$id.open."*; do
		[ ! -e "$verb" ] || say "$id $(<"$verb") $words"
	done
	while read -r verb _; do
		say "$id $verb $words"
	done <>"$folder/$id.asked"
}

# The same of `lock`.
ended_lock() {
	if [ "$2" = 0 ]; then
		say "$1 lock held $(<"$folder/$1.token")"
	else
		say "$1 lock $(outcome "$2" "$3")"
	fi
}

# Reads standard error of `run` or `lock`, and at its end `=STATUS`.
follow() {
	local id=$1 watch=$2 begun=$3 line last=''
	while IFS= read -r line; do
		case $line in
		=*) "ended_$way" "$id" "${line#=}" "$last" ;;
		*"waiting for "*)
			[ "$watch" = '' ] || [[ ! $line =~ pid\ ([0-9]+).*number\ ([0-9]+) ]] ||
				say "$watch waits ${BASH_REMATCH[*]:1:2} $((${EPOCHREALTIME/./} / 1000 - begun))"
			;;
		*) last=$line && say "$line" >"$folder/$id.said" ;;
		esac
	done
}

take() {
	local id=$1 name word value watch='' begun=$((${EPOCHREALTIME/./} / 1000))
	local -a options=(--master-wait 5)
	decode name "${2-}"
	for word in "${@:3}"; do
		decode value "${word#*=}"
		case $word in
		wait=*) options+=(--timeout "$(seconds "$value")") ;;
		lease=*) options+=(--lease "$(seconds "$value")") ;;
		limit=*) options+=(--slots "$value") ;;
		shared=*) options+=(--shared) ;;
		why=*) options+=(--why "$value") ;;
		watch=*) watch=$value ;;
		*) say "$id lock unknown 0 $word" && return ;;
		esac
	done
	if [ "$way" = run ]; then
		rm -f "$folder/$id.asked" "$folder/$id.held" "$folder/$id.open."*
		mkfifo "$folder/$id.asked"
		# shellcheck disable=SC2034 # open here, it keeps what nobody has read yet
		exec {kept}<>"$folder/$id.asked"
		{
			"$program" run "${options[@]}" --status-fd 9 "$name" -- "$0" inside "$folder" "$id" 9>"$folder/$id.record" 2>&1 >&7 7>&-
			echo "=$?"
		} | follow "$id" "$watch" "$begun" &
	else
		say "$name" >"$folder/$id.name"
		{
			"$program" lock "${options[@]}" --pid $$ --token-file "$folder/$id.token" -- "$name" 2>&1
			echo "=$?"
		} | follow "$id" "$watch" "$begun" &
	fi
}

# check, valid or unlock.
about() {
	local id=$1 verb=$2 text
	local -a which
	if [ "$way" = run ]; then
		say "$verb" >"$folder/$id.open.$3"
		say "$verb" "$3" 1<>"$folder/$id.asked"
		return
	fi
	which=(--pid $$ --token "$(<"$folder/$id.token")" -- "$(<"$folder/$id.name")")
	if [ "$verb" = unlock ]; then
		text=$("$program" unlock "${which[@]}" 2>&1)
		say "$id unlock $(outcome $? "$text")"
	else
		look "$id" "$verb" "${which[@]}"
	fi
}

# What the last line said of the holder.
holder() {
	local text
	text=$(<"$folder/$1.said")
	if [[ $text =~ \(pid\ ([0-9]+).*\)(:\ (.*))? ]]; then
		say "$1 holder pid ${BASH_REMATCH[1]} ${BASH_REMATCH[3]-}"
	else
		say "$1 holder nobody"
	fi
}

# One of a crowd: it is inside for a moment.
member() {
	mkdir "$1/in/$$"
	set -- "$1" "$1"/in/*
	say $(($# - 1)) >>"$1/most"
	rmdir "$1/in/$$"
}

# Programs that lock at once: commands under `run`, or scripts.
crowd() {
	local id=$1 count=$2 name wait=$4 one granted=0
	local -a names jobs=()
	IFS=, read -ra names <<<"$3"
	name=${names[0]}
	names=("${names[@]:1}")
	mkdir -p "$folder/in"
	for ((one = 0; one < count; one++)); do
		if [ "$way" = run ]; then
			"$program" run -w "$wait" "${names[@]/#/--also=}" "$name" -- "$0" member "$folder" 2>&1 &
		else
			# shellcheck disable=SC2016 # the script's own $$
			bash -c '"$HOLDFAST" lock -w "$2" --pid $$ "$1" && "$0" member "$3" && "$HOLDFAST" unlock --pid $$ "$1"' "$0" "$name" "$wait" "$folder" 2>&1 &
		fi
		jobs+=($!)
	done
	for one in "${jobs[@]}"; do
		wait "$one" && granted=$((granted + 1))
	done
	say "$id crowd $granted $(sort -n "$folder/most" | tail -n 1) -"
	rm "$folder/most"
}

case $1 in
inside | member)
	"$@"
	exit
	;;
esac
way=$1
folder=$(mktemp -d) || exit
number=0
exec 7>&1
say - ready
while read -ra words; do
	set -- "${words[@]}"
	number=$((number + 1))
	case $2 in
	lock) take "$1" "${@:3}" ;;
	holder) holder "$1" ;;
	crowd) crowd "$1" "${@:3}" & ;;
	*) about "$1" "$2" $number & ;;
	esac
done
# All that it has started is of its process group, or ends with what is.
trap '' TERM
kill -TERM 0
wait
rm -r "$folder"
