package testenv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// relocate brings binaries into the cluster's folder that lie where the servers' account cannot
// go, such as node_modules of a checkout under /root: as hard links, or as copies where those
// cannot be made.
func (c *Cluster) relocate() error {
	tree := filepath.Dir(c.install.dir) // bin, lib and share find each other by their places
	target := filepath.Join(c.root, "postgres")
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(tree, path)
		if err != nil {
			return err
		}
		return c.bring(path, filepath.Join(target, inside), d)
	})
	if err != nil {
		return fmt.Errorf("user %s cannot enter %s, and the binaries cannot be copied: %w", c.account.name, tree, err)
	}
	c.install.dir = filepath.Join(target, filepath.Base(c.install.dir))
	return nil
}

func (c *Cluster) bring(from, to string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return c.makeDir(to)
	case d.Type()&fs.ModeSymlink != 0:
		link, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(link, to)
	case !d.Type().IsRegular():
		return nil
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	if readable := info.Mode()&0o004 != 0; readable && os.Link(from, to) == nil {
		return nil
	}
	return errors.Join(c.copyFile(from, to), os.Chmod(to, info.Mode().Perm()))
}
