package main

import (
	"debug/elf"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"blobio/internal/base/testfiles"
	"blobio/internal/base/version"
)

// TestVersionsAgree checks that package version, the header, the version script and the pkg-config files have the same version.
// It needs no compiler.
func TestVersionsAgree(t *testing.T) {
	major, rest, _ := strings.Cut(version.Number, ".")
	minor, _, _ := strings.Cut(rest, ".")
	header := text(t, "blobio.h")
	if got := match(t, header, `(?m)^#define BLOBIO_VERSION "(.*)"$`); got != version.Number {
		t.Errorf("blobio.h is of version %s, want %s", got, version.Number)
	}
	if got := match(t, header, `(?m)^#define BLOBIO_ABI (\d+)\b`); got != major {
		t.Errorf("BLOBIO_ABI is %s, want %s of version %s", got, major, version.Number)
	}

	newest, since, listed := "", symbols(t), map[string]bool{}
	for _, n := range regexp.MustCompile(`(?ms)^(\S+) \{(.*?)^\} ?(\S*);`).FindAllStringSubmatch(text(t, "blobio.map"), -1) {
		if n[1] == "BLOBIO_PRIVATE" {
			continue
		}
		if n[3] != newest {
			t.Errorf("blobio.map: %s follows %q, want %q", n[1], n[3], newest)
		}
		newest = n[1]
		number, added := strings.CutPrefix(newest, "BLOBIO_"+major+".")
		for _, f := range regexp.MustCompile(`(?m)^\t\t(blobio_\w+);`).FindAllStringSubmatch(n[2], -1) {
			listed[f[1]] = true
			if since[f[1]] != newest {
				t.Errorf("blobio.map: %s is in %s, testdata/symbols.txt has it in %q", f[1], newest, since[f[1]])
			}
			if !added {
				continue
			}
			if news := text(t, "../CHANGES.md"); number == minor && !strings.Contains(news, "`"+f[1]+"`") {
				t.Errorf("CHANGES.md does not name %s", f[1])
			}
			// matches a comment and the declaration after it
			about := match(t, header+text(t, "blobio_mpi.h"), `(?s)/\*((?:[^*]|\*[^/])*)\*/\n(?:BLOBIO_API [^;]*;\n)*?BLOBIO_API \w+ `+f[1]+`\(`)
			about = strings.Join(strings.Fields(strings.ReplaceAll(about, "\n *", " ")), " ")
			if want := "Since " + major + "." + number + "."; !strings.Contains(about, want) {
				t.Errorf("blobio.h does not say %q of %s", want, f[1])
			}
		}
	}
	for name, node := range since {
		if strings.HasPrefix(node, "BLOBIO_") && !listed[name] {
			t.Errorf("blobio.map lacks %s of %s: programs need it", name, node)
		}
	}
	want := "BLOBIO_" + major
	if minor != "0" {
		want += "." + minor
	}
	if newest != want {
		t.Errorf("blobio.map: the newest version is %s, want %s of version %s", newest, want, version.Number)
	}

	if !testfiles.Asked("CAPI") {
		return
	}
	dir := t.TempDir()
	for mpi, name := range map[string]string{"": "blobio.pc", "ompi": "blobio_mpi.pc", "mpich": "blobio_mpi.pc"} {
		run(t, "make", "pc", "BUILD="+dir, "MPI="+mpi)
		if got := match(t, text(t, filepath.Join(dir, name)), `(?m)^Version: (.*)$`); got != version.Number {
			t.Errorf("%s of MPI=%s is of version %s, want %s", name, mpi, got, version.Number)
		}
	}
}

// TestNameOfTheLibrary checks that the name of the shared library contains the major version.
func TestNameOfTheLibrary(t *testing.T) {
	major, _, _ := strings.Cut(version.Number, ".")
	want := "libblobio.so." + major
	f, err := elf.Open(filepath.Join(library(t), want))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := f.DynString(elf.DT_SONAME); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("SONAME %v, %v, want %s", got, err, want)
	}
}

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// match returns the first group of the first match of a pattern.
func match(t *testing.T, s, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(s)
	if m == nil {
		t.Fatalf("nothing matches %s", pattern)
	}
	return m[1]
}
