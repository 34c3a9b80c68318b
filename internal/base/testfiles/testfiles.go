package testfiles

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// maxVector is the maximum output of Unzstd in bytes.
const maxVector = 1 << 30

// Dir returns the path of testdata/<elem...> at the top of the module.
func Dir(t testing.TB, elem ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{root(t), "testdata"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Captured returns the path of ../shared/<elem...>, relative to the root of the module. It skips the test if the file or folder
// is missing.
func Captured(t testing.TB, elem ...string) string {
	t.Helper()
	shared := filepath.Join(filepath.Dir(root(t)), "shared")
	if _, err := os.Stat(shared); err != nil {
		t.Skip("SKIPPED: ../shared is absent (captured maps)")
	}
	path := filepath.Join(append([]string{shared}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED: ../shared/%s is absent", strings.Join(elem, "/"))
	}
	return path
}

// root returns the top directory of the project's module blobio. It ignores nested modules, such as the modules in extra.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if b, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && bytes.HasPrefix(b, []byte("module blobio\n")) {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the working directory, so testdata cannot be found")
		}
		dir = up
	}
}

// Unzstd returns the decompressed bytes of a .zst file. If sha256.txt in its folder lists the name without .zst, the digest must
// match.
func Unzstd(t testing.TB, path string) []byte {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxVector))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	b, err := d.DecodeAll(packed, nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	name := strings.TrimSuffix(filepath.Base(path), ".zst")
	if want := digest(t, filepath.Dir(path), name); want != "" {
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Fatalf("%s: sha256 %s, want %s", path, got, want)
		}
	}
	return b
}

// digest returns the digest of name in the folder's sha256.txt, or "".
func digest(t testing.TB, dir, name string) string {
	t.Helper()
	list, err := os.ReadFile(filepath.Join(dir, "sha256.txt"))
	if err != nil {
		return ""
	}
	for s := bufio.NewScanner(bytes.NewReader(list)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) == 2 && strings.TrimPrefix(f[1], "*") == name {
			return f[0]
		}
	}
	return ""
}
