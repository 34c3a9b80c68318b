package rooms

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestGuideProgram: the program of docs/guide-go.md builds, and prints what the guide says.
func TestGuideProgram(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(root, "docs", "guide-go.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(b), "\r\n", "\n")
	program := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindStringSubmatch(page)
	said := regexp.MustCompile(`(?m)^\$ go mod tidy && go run \.\n(.*\n)`).FindStringSubmatch(page)
	if program == nil || said == nil {
		t.Fatal("the guide has no program, or does not say what it prints")
	}
	dir := t.TempDir()
	source, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	// a package of this module that is there for the compiler only
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(top, "examples", "guide", "main.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{source: []byte(program[1]), overlay: list} {
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(dir, "guide")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	build := exec.Command("go", "build", "-overlay", overlay, "-o", bin, "./examples/guide")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(bin)
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil || string(out) != said[1] {
		t.Errorf("%v, it prints %q, the guide says %q", err, out, said[1])
	}
}
