package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
)

// account is who runs the servers: whoever runs this process, or, as PostgreSQL refuses to be
// root, a user that exists for such work.
type account struct {
	name     string
	uid, gid int
	drop     bool // this process is root and must become the account
}

func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if uidErr == nil && gidErr == nil && uid > 0 {
			return account{name: name, uid: uid, gid: gid, drop: true}, nil
		}
	}
	return account{}, fmt.Errorf("PostgreSQL refuses to run as root and neither user postgres nor nobody exists: add one of them or run as another user")
}

// give makes the account the owner of path.
func (a account) give(path string) error {
	if !a.drop {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// command is a program that runs as the account in folder dir, with nothing of this process's
// environment that PostgreSQL reads (PGOPTIONS, PGSSLMODE and the like would reach the servers).
func (a account) command(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "LC_ALL=C", "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	for _, name := range []string{"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	a.detach(cmd)
	return cmd
}

// reaches says whether the account can enter folder dir: a checkout or a TMPDIR under /root is
// closed to everybody else.
func (a account) reaches(ctx context.Context, dir string) bool {
	if !a.drop {
		return true
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `cd -- "$1"`, "sh", dir)
	cmd.Dir = "/"
	a.detach(cmd)
	return cmd.Run() == nil
}
