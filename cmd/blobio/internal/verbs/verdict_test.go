package verbs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/testfiles"
	"blobio/internal/cli"
	"blobio/internal/subfile"
)

// TestDamageEndsWithOne checks that every verb exits with 1 on any damage, like check.
func TestDamageEndsWithOne(t *testing.T) {
	dir := t.TempDir()
	canon := clitest.Toy(t, dir)
	flip := func(file string, at int) func(base string) {
		return func(base string) { clitest.FlipByte(t, base+file, at) }
	}
	for _, layout := range []string{"variable-centric", "process-centric"} {
		for what, damage := range map[string]func(base string){
			"magic": flip(".0000", 1), "magic of another": flip(".0001", 1), "version": flip(".0000", 3), "version of another": flip(".0001", 3),
			"text in place":   func(base string) { clitest.Check(t, os.WriteFile(base+".0001", []byte("notes"), 0o666)) },
			"netCDF in place": func(base string) { clitest.Check(t, os.WriteFile(base+".0000", clitest.Read(t, canon), 0o666)) },
			"directory": func(base string) {
				clitest.Check(t, os.Remove(base+".0001"))
				clitest.Check(t, os.Mkdir(base+".0001", 0o777))
			},
			"cut":               func(base string) { clitest.Check(t, os.Truncate(base+".0001", 3000)) },
			"empty":             func(base string) { clitest.Check(t, os.Truncate(base+".0000", 0)) },
			"a subfile is gone": func(base string) { clitest.Check(t, os.Remove(base+".0001")) },
			"the first is gone": func(base string) { clitest.Check(t, os.Remove(base+".0000")) },
			"none is left": func(base string) {
				clitest.Check(t, os.Remove(base+".0000"))
				clitest.Check(t, os.Remove(base+".0001"))
			},
			"manifest": func(base string) {
				name := subfile.ManifestName(base)
				b := clitest.Read(t, name)
				for i := 0; i < len(b); i += 50 { // both copies
					b[i] ^= 1
				}
				clitest.Check(t, os.WriteFile(name, b, 0o666))
			},
			"header": flip(".0000", map[string]int{"variable-centric": 0x100, "process-centric": 0x900}[layout]),
			"all data": func(base string) {
				for _, sub := range []string{".0000", ".0001"} {
					b := clitest.Read(t, base+sub)
					for i := len(b) - 300; i < len(b); i += 8 {
						b[i] ^= 1
					}
					clitest.Check(t, os.WriteFile(base+sub, b, 0o666))
				}
			},
		} {
			t.Run(layout+" "+what, func(t *testing.T) {
				base := filepath.Join(t.TempDir(), "d.nc")
				clitest.Good(t, "convert", "--no-sync", "--to", layout, "--ranks", "3", "--subfiles", "2", canon, base)
				damage(base)
				out := filepath.Join(t.TempDir(), "out")
				for _, line := range crashtest.Some(t, 4, []string{"check D", "dump D", "dump --json D", "dump -v T D", "dump --raw -v T D", "diff D C", "diff C D", "diff -q D C",
					"convert --no-sync D O", "convert --no-sync --to variable-centric --ranks 2 D O", "ls --stats D", "where T[2,1,5] D", "plot -o O.svg T D"}) {
					args := strings.Fields(line)
					for i, a := range args {
						switch a {
						case "D":
							args[i] = base
						case "C":
							args[i] = canon
						case "O", "O.svg":
							args[i] = out + a[1:]
						}
					}
					r := clitest.Blobio(t, args...)
					elsewhere := strings.HasPrefix(line, "plot") || strings.HasPrefix(line, "where") // this verb does not read the damaged bytes
					if r.Code != cli.Findings && !(elsewhere && r.Code == cli.Good) {
						t.Errorf("%s: exit code %d, want 1\n%s", line, r.Code, r.Err)
					}
				}
			})
		}
	}
}

// TestOtherFormats checks that files of another format are not called damaged, and that the text names the format and the verb
// that reads it.
func TestOtherFormats(t *testing.T) {
	dir, canon, blobs, _ := clitest.Toys(t)
	at := func(name, content string) string {
		name = filepath.Join(dir, name)
		clitest.Check(t, os.WriteFile(name, []byte(content), 0o666))
		return name
	}
	cello := filepath.Join(dir, "Check")
	clitest.Good(t, "amr", "gen", "shock", "--no-sync", "--cells", "4", cello)
	tree := at("a.kvt", string(clitest.Read(t, testfiles.Dir(t, "kvtree", "nested.kvt"))))
	pointer := at("lfs.nc", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
	text, zipped := at("notes.txt", "no dataset at all, but a text\n"), at("a.gz", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00")
	maps := at("m.dat", "version 2001 npes 1 ndims 1\n4\n0 4\n1 2 3 4\n")
	plain := string(clitest.Read(t, filepath.Join(cello, "block_data-0.h5")))
	const lfs = "git lfs pull"
	for _, c := range []struct{ path, words string }{
		{text, "the file begins with text"}, {zipped, "gunzip"}, {pointer, lfs}, {tree, `the file is a key/value file, for "blobio scr"`},
	} {
		for _, line := range []string{"decomp check", "decomp info", "ff check", "ff ls", "ff dump", "ff convert OUT", "scr print", "check", "dump", "ls", "convert OUT", "diff " + canon, "where T[0]"} {
			words := strings.Fields(line)
			if c.path == tree && (words[0] == "scr" || len(words) == 1) {
				continue
			}
			args := append(slices.Clone(words), c.path)
			if words[len(words)-1] == "OUT" {
				args = append(words[:len(words)-1:len(words)-1], c.path, filepath.Join(dir, "out"))
			}
			want := c.words
			if c.path == tree && (words[0] == "convert" || words[0] == "where" || words[0] == "diff") {
				want = "key/value file"
			}
			if r := clitest.Blobio(t, args...); r.Code != cli.Failed || !strings.Contains(r.Out+r.Err, want) {
				t.Errorf("%v: exit code %d, want 2 and %q\n%s%s", args, r.Code, want, r.Out, r.Err)
			}
		}
	}
	for _, c := range []struct{ words, line string }{
		{`convert does not accept a checkpoint of Cello, but "blobio amr convert" does`, "convert " + cello + " " + dir + "/x.nc"},
		{`where does not accept a checkpoint of Cello, only these verbs do: ls`, "where T[0] " + cello},
		{`convert does not accept a map file, but "blobio decomp convert" does`, "convert " + maps + " " + dir + "/x.nc"},
		{`the file is a checkpoint of Cello, for "blobio amr"`, "decomp check " + cello},
		{`the file is a checkpoint of Cello, for "blobio amr"`, "decomp info " + cello},
		{`the file is an ordinary netCDF file, for "blobio check"`, "decomp check " + canon},
		{`the file is a map file, for "blobio decomp"`, "ff check " + maps},
		{"netCDF-C (ncdump) may read it", "check " + at("later.nc", "CDF\x09\x00\x00\x00\x00")},
		{"h5dump and netCDF-C may read it", "check " + at("plain.h5", plain)},
	} {
		args := strings.Fields(c.line)
		if r := clitest.Blobio(t, args...); r.Code != cli.Failed || !strings.Contains(r.Out+r.Err, c.words) {
			t.Errorf("%v: exit code %d, want 2 and %q\n%s%s", args, r.Code, c.words, r.Out, r.Err)
		}
	}
	clitest.Shows(t, ": good", "decomp", "check", blobs)
	clitest.FlipByte(t, blobs+".0000", 0x100)
	clitest.Bad(t, cli.Findings, "0x100", "decomp", "check", blobs)
	// A subfile that is a Git LFS pointer is stored elsewhere, and must not be called damaged.
	clitest.Check(t, os.WriteFile(blobs+".0000", clitest.Read(t, pointer), 0o666))
	for _, line := range []string{"dump", "decomp info"} {
		clitest.Bad(t, cli.Failed, lfs, append(strings.Fields(line), blobs)...)
	}
}
