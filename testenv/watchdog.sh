# Ends what a process leaves behind that died without Close: every process that works inside the
# folder $1, and their shared memory. Reads from a pipe whose other end only that process holds:
# the word "done" means that nothing is left, the end of the file that it is dead.
trap '' HUP INT QUIT TERM
root=$1
case $root in /*/*) ;; *) exit 2 ;; esac

while read -r word; do
	if [ "$word" = done ]; then exit 0; fi
done

works_inside() {
	cwd=$(cd -P "/proc/$1/cwd" 2>/dev/null && pwd -P) || return 1
	case $cwd in "$root" | "$root"/*) return 0 ;; esac
	return 1
}

# A stopped process takes SIGKILL too. Only processes of our own user can be ours.
kill_by_folder() {
	left=no
	for entry in /proc/[0-9]*; do
		[ -O "$entry" ] || continue
		pid=${entry#/proc/}
		if works_inside "$pid"; then
			kill -KILL "$pid" 2>/dev/null
			left=yes
		fi
	done
}

# Where there is no /proc: the postmasters that their files name, if they run from the folder,
# and their children; a child that is missed ends by itself when its postmaster is gone.
kill_by_file() {
	left=no
	for file in "$root"/*/data/postmaster.pid; do
		[ -f "$file" ] || continue
		read -r postmaster <"$file" || continue
		case $(ps -o command= -p "$postmaster" 2>/dev/null) in *"$root"*) ;; *) continue ;; esac
		kill -KILL $(ps -axo pid=,ppid= | awk -v p="$postmaster" '$1 == p || $2 == p { print $1 }') 2>/dev/null
		left=yes
	done
}

left=yes
tries=0
while [ $left = yes ] && [ $tries -lt 400 ]; do
	if [ -d /proc/self ]; then kill_by_folder; else kill_by_file; fi
	tries=$((tries + 1))
	if [ $left = yes ]; then sleep 0.05; fi
done

# The seventh line of postmaster.pid holds key and id of the segment by which a postmaster claims
# its folder; SIGKILL leaves it in the system for ever.
for file in "$root"/*/data/postmaster.pid; do
	[ -f "$file" ] || continue
	line=0
	while read -r key id; do
		line=$((line + 1))
		if [ $line = 7 ] && [ -n "$id" ]; then ipcrm -m "$id" 2>/dev/null; fi
	done <"$file"
done
