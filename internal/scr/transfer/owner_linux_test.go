package transfer

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestModes checks the permissions of copies. With and without Meta, a copy gets the mode of its source, reduced by the umask. If it replaces a file,
// it gets at most the permissions of that file. Containers must not be written through links.
func TestModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	dir := t.TempDir()
	data := noise(1, 5000)
	for _, x := range []struct{ from, had, want fs.FileMode }{
		{0o600, 0, 0o600}, {0o644, 0, 0o644}, {0o666, 0, 0o644}, {0o444, 0, 0o644}, {0o755, 0, 0o755}, {0o644, 0o600, 0o600}, {0o600, 0o644, 0o600},
	} {
		src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
		for _, name := range []string{src, dst} {
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
		}
		file := func(name string, mode fs.FileMode) {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(name, mode); err != nil {
				t.Fatal(err)
			}
		}
		file(src, x.from)
		if x.had != 0 {
			file(dst, x.had)
		}
		if _, err := engine(t, Options{}).Copy(context.Background(), job(src, dst, data)); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(dst); err != nil || info.Mode() != x.want {
			t.Errorf("source %v, before %v: mode %v, want %v, %v", x.from, x.had, info.Mode(), x.want, err)
		}
	}
	victim, link := filepath.Join(dir, "victim"), filepath.Join(dir, "ctr.0.scr")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, link); err != nil {
		t.Fatal(err)
	}
	j := job(filepath.Join(dir, "src"), "", data)
	j.Out = []Segment{{File: link, Length: int64(len(data))}}
	if _, err := engine(t, Options{}).Copy(context.Background(), j); err == nil {
		t.Error("a container was written through a link")
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
		t.Errorf("%q %v", b, err)
	}
}
