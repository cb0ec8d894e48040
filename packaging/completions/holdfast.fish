# Completion of holdfast(1) for fish; printed by: holdfast completion fish
# The words without the options in front of them.
function __holdfast_strip
	argparse -s also= c/command= n/nonblock w/timeout= warning= critical= E/conflict-exit-code= x/exclusive s/shared N/slots= t/lease= o/close F/no-fork u/unlock why= master-wait= skip-ok on-lost= kill-after= max-run= min-hold= status-fd= pid= token-file= token= clients= names= seconds= durable here begin level= event= b/batch iterations= d/delay= sort= json q/quiet v/verbose S/socket= h/help V/version -- $argv 2>/dev/null; or return
	string join \n -- $argv
	return 0
end
# The verb, and what stands between it and the cursor.
function __holdfast_words
	set -l words (commandline -opc)
	set -e words[1]
	__holdfast_strip $words
end
# Whether the verb may stand here.
function __holdfast_begins
	set -l words (__holdfast_words); and not set -q words[1]
end
# Whether the verb is one of these.
function __holdfast_verb
	set -l words (__holdfast_words)
	set -q words[1]; and contains -- $words[1] $argv
end
# What stands between the verb with its options and the cursor: a name, and for run a command.
function __holdfast_rest
	set -l words (__holdfast_words)
	set -e words[1]
	__holdfast_strip $words
end
# Whether the verb is one of these, or not yet there, and its options may stand here.
function __holdfast_options
	__holdfast_begins; and return
	__holdfast_verb $argv; or return
	not __holdfast_verb run; or test (count (__holdfast_rest)) -eq 0
end
function __holdfast_command
	set -l words (__holdfast_rest) (commandline -ct)
	set -e words[1]
	if set -q words[2]; and test "$words[1]" = --
		set -e words[1]
	end
	complete -C "$words"
end
complete -c holdfast -f
complete -c holdfast -n __holdfast_begins -a run -d 'hold the lock NAME while COMMAND runs'
complete -c holdfast -n __holdfast_begins -a lock -d 'take the lock for the calling script; it ends with that process'
complete -c holdfast -n __holdfast_begins -a unlock -d 'give back what lock took'
complete -c holdfast -n __holdfast_begins -a hold -d 'hold the lock until TERM, INT or HUP'
complete -c holdfast -n __holdfast_begins -a check -d 'succeed if the calling script is still the holder'
complete -c holdfast -n __holdfast_begins -a latch -d 'make a latch of N steps, do steps of it, or print how many are left'
complete -c holdfast -n __holdfast_begins -a await -d 'wait until a latch is open'
complete -c holdfast -n __holdfast_begins -a ls -d 'list the locks that are held or waited for'
complete -c holdfast -n __holdfast_begins -a show -d 'show who holds a lock, and who waits for it'
complete -c holdfast -n __holdfast_begins -a history -d 'list the holds of a lock that have ended, the latest first'
complete -c holdfast -n __holdfast_begins -a sessions -d 'list the sessions of the daemons'
complete -c holdfast -n __holdfast_begins -a fleet -d 'list the daemons that share the masters: version, uptime, settings that differ'
complete -c holdfast -n __holdfast_begins -a watch -d 'print what happens, as it happens'
complete -c holdfast -n __holdfast_begins -a top -d 'watch locks, waiters, rates and masters on the screen; -b prints pages'
complete -c holdfast -n __holdfast_begins -a ping -d 'ask whether the daemon answers'
complete -c holdfast -n __holdfast_begins -a health -d 'try to take a lock, and end as a monitoring plugin does'
complete -c holdfast -n __holdfast_begins -a doctor -d 'say what is wrong with the daemon and its masters, and which command mends it'
complete -c holdfast -n __holdfast_begins -a info -d 'print the daemon\'s state and counters'
complete -c holdfast -n __holdfast_begins -a break -d 'take a lock away from its holder; --token shows that you looked'
complete -c holdfast -n __holdfast_begins -a drain -d 'end the daemon; with -w when its holders have finished'
complete -c holdfast -n __holdfast_begins -a restart -d 'hand the daemon over to a new process of its program; clients keep what they have'
complete -c holdfast -n __holdfast_begins -a loglevel -d 'print the level of the daemon\'s log, or change it until a reload or restart'
complete -c holdfast -n __holdfast_begins -a masters -d 'show the set of masters, or change it while the daemons run'
complete -c holdfast -n __holdfast_begins -a bench -d 'measure how fast the daemon hands out locks, and verify each grant'
complete -c holdfast -n __holdfast_begins -a completion -d 'print the completion script for a shell'
complete -c holdfast -n '__holdfast_options run' -l also -x -d 'hold this lock, too: all of them or none; may be repeated'
complete -c holdfast -n '__holdfast_options run' -s c -l command -x -d 'run LINE with /bin/sh, instead of COMMAND'
complete -c holdfast -n '__holdfast_options run lock hold await' -s n -l nonblock -d 'do not wait'
complete -c holdfast -n '__holdfast_options run lock hold await drain' -s w -l timeout -x -d 'wait no longer than this'
complete -c holdfast -n '__holdfast_options health' -l timeout -x -d 'wait no longer than this'
complete -c holdfast -n '__holdfast_options health' -s w -l warning -x -d 'a lock that takes this long is a warning'
complete -c holdfast -n '__holdfast_options health' -s c -l critical -x -d 'a lock that takes this long is critical'
complete -c holdfast -n '__holdfast_options run lock hold await' -s E -l conflict-exit-code -x -d 'exit code if another has the lock (75)'
complete -c holdfast -n '__holdfast_options run lock hold' -s x -l exclusive -d 'an exclusive lock; this is the default (also -e)'
complete -c holdfast -n '__holdfast_options run lock hold' -s s -l shared -d 'a shared lock: others may take it shared, too'
complete -c holdfast -n '__holdfast_options run lock hold' -s N -l slots -x -d 'one of SLOTS places: so many may have it at a time'
complete -c holdfast -n '__holdfast_options run lock hold latch' -s t -l lease -x -d 'the hold ends by itself after TTL seconds, without renewal; so does a latch'
complete -c holdfast -n '__holdfast_options run' -s o -l close -d 'pass no descriptor on to COMMAND: only its process group keeps the lock'
complete -c holdfast -n '__holdfast_options run' -s F -l no-fork -d 'flock\'s letter; no effect: holdfast stays, to stop COMMAND if the lock is lost'
complete -c holdfast -n '__holdfast_options run' -s u -l unlock -d 'give back what lock took, as unlock does; without COMMAND'
complete -c holdfast -n '__holdfast_options run lock hold' -l why -x -d 'what the lock is for; shown to whoever waits'
complete -c holdfast -n '__holdfast_options run lock hold' -l master-wait -x -d 'give up if no daemon or master answers for this long (30)'
complete -c holdfast -n '__holdfast_options run lock hold' -l skip-ok -d 'exit 0 if another has the lock'
complete -c holdfast -n '__holdfast_options run' -l on-lost -x -a 'term kill warn signal:' -d 'what to do to COMMAND if the lock is lost (term)'
complete -c holdfast -n '__holdfast_options run' -l kill-after -x -d 'from TERM to KILL, if COMMAND has to be stopped (5)'
complete -c holdfast -n '__holdfast_options run' -l max-run -x -d 'stop COMMAND when it has run for this long, and exit with 124'
complete -c holdfast -n '__holdfast_options run' -l min-hold -x -d 'keep the lock for this long if COMMAND ends sooner, unless it is lost or a signal comes'
complete -c holdfast -n '__holdfast_options run' -l status-fd -x -d 'write the outcome to descriptor N, as one JSON object'
complete -c holdfast -n '__holdfast_options lock unlock check' -l pid -x -d 'the process that owns the lock (the parent)'
complete -c holdfast -n '__holdfast_options run lock hold' -l token-file -r -F -d 'write the fencing token to FILE; - is stdout'
complete -c holdfast -n '__holdfast_options unlock check break' -l token -x -d 'only the hold with this fencing token'
complete -c holdfast -n '__holdfast_options bench' -s c -l clients -x -d 'how many connections lock (64)'
complete -c holdfast -n '__holdfast_options bench' -l names -x -d 'how many names they share (contended: 1; mixed: one for four connections)'
complete -c holdfast -n '__holdfast_options bench' -l seconds -x -d 'how long each kind takes (1)'
complete -c holdfast -n '__holdfast_options bench' -l durable -d 'with sessions that outlive a crash of the daemon'
complete -c holdfast -n '__holdfast_options ls show history sessions break' -l here -d 'ask this host\'s daemon alone, not all that share the masters'
complete -c holdfast -n '__holdfast_options drain' -l begin -d 'return when it has begun, without waiting for holders'
complete -c holdfast -n '__holdfast_options watch' -l level -x -a 'debug info warning error' -d 'only events of this level or above'
complete -c holdfast -n '__holdfast_options watch' -l event -x -d 'only events of these names: lock.*, master.*'
complete -c holdfast -n '__holdfast_options top' -s b -l batch -d 'print pages, and draw nothing'
complete -c holdfast -n '__holdfast_options top' -s n -l iterations -x -d 'how many pages to print'
complete -c holdfast -n '__holdfast_options top' -s d -l delay -x -d 'ask the daemon this often (2)'
complete -c holdfast -n '__holdfast_options top' -l sort -x -a 'waiters longest held name' -d 'what comes first (waiters)'
complete -c holdfast -n '__holdfast_options lock unlock hold check latch await ls show history sessions fleet watch ping health doctor info break drain restart loglevel masters bench' -l json -d 'print JSON'
complete -c holdfast -n '__holdfast_options run lock unlock hold check latch await ls show history sessions fleet watch top ping health doctor info break drain restart loglevel masters bench completion' -s q -l quiet -d 'print errors only; ls: names only'
complete -c holdfast -n '__holdfast_options run lock unlock hold check latch await ls show history sessions fleet watch top ping health doctor info break drain restart loglevel masters bench completion' -s v -l verbose -d 'print what happens'
complete -c holdfast -n '__holdfast_options run lock unlock hold check latch await ls show history sessions fleet watch top ping health doctor info break drain restart loglevel masters bench' -s S -l socket -r -F -d 'the daemon\'s socket, or host:port ($HOLDFAST_URL)'
complete -c holdfast -n '__holdfast_options run lock unlock hold check latch await ls show history sessions fleet watch top ping health doctor info break drain restart loglevel masters bench completion' -s h -l help -d 'print this help'
complete -c holdfast -n '__holdfast_options run lock unlock hold check latch await ls show history sessions fleet watch top ping health doctor info break drain restart loglevel masters bench completion' -s V -l version -d 'print the version'
complete -c holdfast -n '__holdfast_verb run lock unlock hold check latch await ls show watch break; and test (count (__holdfast_rest)) -eq 0' -a '(holdfast ls -q 2>/dev/null)'
complete -c holdfast -n '__holdfast_verb run; and test (count (__holdfast_rest)) -gt 0' -a '(__holdfast_command)'
complete -c holdfast -n '__holdfast_verb loglevel' -a 'debug info warning error'
complete -c holdfast -n '__holdfast_verb masters' -a 'status replace add abort forget'
complete -c holdfast -n '__holdfast_verb bench' -a 'uncontended contended mixed'
complete -c holdfast -n '__holdfast_verb completion' -a 'bash zsh fish'
