package testenv

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Root's servers run as another user, who may not enter every folder.
func TestConfigDir(t *testing.T) {
	closed := t.TempDir() // only its owner may enter its parent
	require.NoError(t, os.Chmod(filepath.Dir(closed), 0o700))
	c, err := New(limit(t), Config{Dir: closed, Replicas: -1})
	if os.Geteuid() == 0 {
		require.ErrorContains(t, err, "readsplit: testenv: Config.Dir is "+closed+", which user ")
	} else {
		require.NoError(t, err)
		assert.Equal(t, closed, filepath.Dir(c.root))
		require.NoError(t, c.Close(limit(t)))
	}
	_, err = New(limit(t), Config{Dir: "/no/such/folder"})
	require.ErrorContains(t, err, "readsplit: testenv: Config.Dir: ")

	// A temporary folder of root's own is no reason to fail: nobody has chosen it for this.
	t.Setenv("TMPDIR", closed)
	t.Setenv(envDir, "")
	c, err = New(limit(t), Config{Replicas: -1, memoryDir: func(bool) string { return "" }})
	require.NoError(t, err)
	require.NoError(t, c.Close(limit(t)))

	// A symbolic link to a folder, as macOS has for /tmp, and a relative path.
	t.Setenv("TMPDIR", "")
	open := openDir(t)
	require.NoError(t, os.Mkdir(filepath.Join(open, "real"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(open, "link")))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(filepath.Join(open, "link"))) })
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(filepath.Join(open, "real"))) })
	// Found before the change of folder: npm's are looked for beside the module.
	bin, _, err := FindBinaries(limit(t), Config{})
	require.NoError(t, err)
	t.Chdir(open)
	c, err = New(limit(t), Config{Dir: "link", Replicas: -1, BinDir: bin})
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(open, "real"), filepath.Dir(c.root))
	assert.Equal(t, "primary", one[string](t, c.Primary(), "SHOW cluster_name"))
	require.NoError(t, c.Close(limit(t)))
	assert.NoDirExists(t, c.root)
}
