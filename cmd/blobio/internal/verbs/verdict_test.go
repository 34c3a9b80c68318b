package verbs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
	"blobio/subfile"
)

// TestDamageEndsWithOne: whichever verb meets whichever damage, the exit code is that of check, 1.
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
			base := filepath.Join(t.TempDir(), "d.nc")
			clitest.Good(t, "convert", "--no-sync", "--to", layout, "--ranks", "3", "--subfiles", "2", canon, base)
			damage(base)
			out := filepath.Join(t.TempDir(), "out")
			for _, line := range []string{"check D", "dump D", "dump --json D", "dump -v T D", "dump --raw -v T D", "diff D C", "diff C D", "diff -q D C",
				"convert --no-sync D O", "convert --no-sync --to variable-centric --ranks 2 D O", "ls --stats D", "where T[2,1,5] D", "plot -o O.svg T D"} {
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
				elsewhere := strings.HasPrefix(line, "plot") || strings.HasPrefix(line, "where") // damage at bytes that it does not touch
				if r.Code != cli.Findings && !(elsewhere && r.Code == cli.Good) {
					t.Errorf("%s: %s: %s: exit code %d, want 1\n%s", layout, what, line, r.Code, r.Err)
				}
			}
		}
	}
}
