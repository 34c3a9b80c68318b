package verbs_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/crashtest"
	"blobio/internal/cli"
)

// manifestIDs matches the differences between manifests of two equal datasets.
var manifestIDs = regexp.MustCompile(`"(id|writer|(copy_)?crc32)": ?"[^"]*"`)

// flipped is the output of a verb.
type flipped struct {
	clitest.Result
	made map[string]string
}

// run runs a verb in the working directory and removes its output.
func (v *flipVerb) run(t *testing.T, dir string) (f flipped) {
	out := filepath.Join(dir, "out")
	if v.do != nil {
		f.Result = v.do(t)
	} else {
		args := slices.Clone(v.args)
		for i, a := range args {
			a = strings.Replace(strings.Replace(a, "WHOLE", filepath.Join(dir, "whole"), 1), "KEY", filepath.Join(dir, "key"), 1)
			if a == "OUT" {
				a = filepath.Join(out, "made")
			}
			args[i] = a
		}
		clitest.Check(t, os.MkdirAll(out, 0o777))
		f.Result = clitest.Blobio(t, args...)
	}
	f.made = map[string]string{}
	clitest.Check(t, os.MkdirAll(out, 0o777))
	clitest.Check(t, filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.HasSuffix(path, ".manifest") {
			b = manifestIDs.ReplaceAll(b, nil)
		}
		f.made[path] = string(b)
		return err
	}))
	clitest.Check(t, os.RemoveAll(out))
	f.Out = flipTimes.ReplaceAllString(f.Out, "")
	return f
}

// flipTimes matches the parts of output that differ in every run.
var flipTimes = regexp.MustCompile(`[0-9.]+ (ns|µs|ms|s)\b|[0-9.]+ [KMG]iB/s`)

// told matches the beginning of findings and warnings.
var told = regexp.MustCompile(`(?m)(^|: )(error|warning|note): `)

// TestFlips changes a byte in any file of any form with checksums. Every reader, conversion, comparison and restart must notice
// the change, or give the same result as without it.
func TestFlips(t *testing.T) {
	n := crashtest.Times(14, 44)
	dir := t.TempDir()
	forms := flipForms(t, dir)
	work := filepath.Join(dir, "work")
	clitest.Check(t, os.Mkdir(work, 0o777))
	t.Chdir(work)
	fresh := func(f *flipForm) {
		old, err := os.ReadDir(work)
		clitest.Check(t, err)
		for _, e := range old {
			clitest.Check(t, os.RemoveAll(e.Name()))
		}
		for _, name := range f.files {
			b := clitest.Read(t, filepath.Join(dir, "whole", name))
			clitest.Check(t, os.MkdirAll(filepath.Dir(name), 0o777))
			clitest.Check(t, os.WriteFile(name, b, 0o666))
		}
	}
	counts, unseen := map[[3]string]int{}, map[string]int{}
	wholes := map[string][]flipped{}
	for i := range n {
		f := &forms[i%len(forms)]
		if wholes[f.name] == nil {
			fresh(f)
			for _, v := range f.verbs {
				w := v.run(t, dir)
				if w.Code != cli.Good {
					t.Fatalf("%s, %s of whole files: exit code %d\n%s%s", f.name, v.name, w.Code, w.Out, w.Err)
				}
				if !crashtest.Long() {
					// a difference shows below
				} else if again := v.run(t, dir); again.Out != w.Out || !sameFiles(again.made, w.made, true) {
					t.Fatalf("%s, %s of whole files: no two outputs are the same:\n%.300s\n%.300s", f.name, v.name, w.Out, again.Out)
				}
				wholes[f.name] = append(wholes[f.name], w)
			}
		}
		fresh(f)
		rnd := rand.New(rand.NewPCG(uint64(i), 15))
		name := f.files[rnd.IntN(len(f.files))]
		b := clitest.Read(t, name)
		off, with := rnd.IntN(len(b)), byte(1+rnd.IntN(255))
		if i/len(forms)%2 == 0 { // change a byte in the last fifth, where small files have their data
			off = len(b) - 1 - off/5
		}
		b[off] ^= with
		clitest.Check(t, os.WriteFile(name, b, 0o666))
		seen := false
		for k, v := range f.verbs {
			got, whole := v.run(t, dir), wholes[f.name][k]
			what := "silent"
			switch {
			case got.Code == cli.Good && got.Out == whole.Out && sameFiles(got.made, whole.made, true):
				what = "the same"
			case got.Code == cli.Findings && sameFiles(got.made, whole.made, false):
				what = "refused"
			case got.Code == cli.Failed && sameFiles(got.made, whole.made, false):
				what = "refused"
				t.Errorf("flip %d, byte %d of %s by %#x: %s: damage ends with exit code 2\n%s%s", i, off, name, with, strings.Join(append([]string{v.name}, v.args...), " "), got.Out[:min(len(got.Out), 300)], got.Err)
			case got.Code == cli.Good && (told.MatchString(got.Out) || told.MatchString(got.Err)):
				what = "told"
			default:
				t.Errorf("flip %d, byte %d of %s by %#x: %s: exit code %d, and something else comes out\n%s%s", i, off, name, with, strings.Join(append([]string{v.name}, v.args...), " "), got.Code, got.Out[:min(len(got.Out), 300)], got.Err)
			}
			counts[[3]string{f.name, v.name, what}]++
			seen = seen || what != "the same"
		}
		if !seen {
			unseen[name]++
		}
	}
	t.Logf("%d flips:\n%sof no consequence to any of them: %v", n, flipTable(forms, counts), unseen)
}

// sameFiles reports whether two sets of files are equal. If all is false, some files may be missing.
func sameFiles(got, want map[string]string, all bool) bool {
	for name, b := range got {
		if w, ok := want[name]; !ok || w != b {
			return false
		}
	}
	return !all || len(got) == len(want)
}

func flipTable(forms []flipForm, counts map[[3]string]int) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%-14s%-16s%10s%10s%10s%10s\n", "", "", "refused", "told", "the same", "silent")
	for _, f := range forms {
		var seen []string
		for _, v := range f.verbs {
			if slices.Contains(seen, v.name) {
				continue
			}
			seen = append(seen, v.name)
			fmt.Fprintf(&b, "%-14s%-16s", f.name, v.name)
			for _, what := range []string{"refused", "told", "the same", "silent"} {
				fmt.Fprintf(&b, "%10d", counts[[3]string{f.name, v.name, what}])
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
