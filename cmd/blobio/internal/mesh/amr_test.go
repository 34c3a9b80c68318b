package mesh_test

import (
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/amr/gen"
	"blobio/internal/cli"
)

var sizeAndFile = regexp.MustCompile(`(?m)^.* Cello checkpoint, (.*), \d+ files?, .*$`)

func TestAmrLs(t *testing.T) {
	_, dir, _ := clitest.Mesh(t)
	const want = `cycle 10, time 0.125, dt 0.000976562
mesh: 4 × 4 root blocks of 4 × 4 cells, ghost zones 4 × 4
domain: x 0 to 1, y 0 to 1
order: morton
fields: density float32, velocity_x float32, velocity_y float32, velocity_z float32

LEVEL  BLOCKS  LEAVES  CELLS  OF THE DOMAIN      DATA
   -2       1       0      0          0.0 %     256 B
   -1       4       0      0          0.0 %  1.00 KiB
    0      16       4     64         25.0 %  4.00 KiB
    1      48      36    576         56.2 %  12.0 KiB
    2      48      48    768         18.8 %  12.0 KiB
`
	for _, path := range []string{dir, filepath.Join(dir, "check.file_list")} {
		out := clitest.Good(t, "amr", "ls", path)
		head, rest, _ := strings.Cut(out, "\n")
		if !sizeAndFile.MatchString(head) || !strings.Contains(head, "2-D, 117 blocks (88 leaves)") || !strings.HasPrefix(rest, want) {
			t.Errorf("amr ls %s:\n%s", path, out)
		}
	}
	out := clitest.Good(t, "amr", "ls", "--ranks", "4,16", "--blocks", dir)
	for _, w := range []string{"block_data-1.h5 39 29", "4 blocks 30 29.25 0.975", "16 cost ", "files: at most ", "21 B01:11_01:11 2 block_data-0.h5 yes"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), w) {
			t.Errorf("amr ls --ranks --blocks has no %q:\n%s", w, out)
		}
	}
	var d struct {
		Meshes []struct {
			Form, Order string
			Rank        int
			Levels      []struct {
				Level, Blocks, Leaves int
				Share                 float64
			}
			Files  []struct{ Blocks, Leaves int }
			Fields []struct {
				Name  string
				Shape []int
			}
			Plans []struct {
				By         string
				Efficiency float64
			}
			Blocks []struct {
				Name string
				Leaf bool
			}
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "amr", "ls", "--json", "--ranks", "3", "-b", dir)), &d))
	if len(d.Meshes) != 1 || d.Meshes[0].Form != "cello" || len(d.Meshes[0].Files) != 3 || d.Meshes[0].Files[0].Blocks != 39 ||
		len(d.Meshes[0].Plans) != 3 || d.Meshes[0].Plans[0].Efficiency != 1 || len(d.Meshes[0].Blocks) != 117 || d.Meshes[0].Levels[2].Level != 0 || d.Meshes[0].Levels[4].Leaves != 48 {
		t.Errorf("amr ls --json: %+v", d)
	}
	share := 0.0
	for _, l := range d.Meshes[0].Levels {
		share += l.Share
	}
	if share != 1 {
		t.Errorf("leaves cover %v of the domain", share)
	}
}

func TestAmrDump(t *testing.T) {
	_, path, _ := clitest.Mesh(t, "--particles", "3", "--ghosts")
	out := clitest.Good(t, "amr", "dump", path, "B01:11_01:11")
	clitest.Holds(t, out, "level 2, leaf, in ", "index: -1073741818 -1073741820 0, array 1 1\n", "x: 0.4375 to 0.5", "parent: B01:1_01:1", "adapt_buffer: 4000 bytes", "density     float32  12 × 12 with ghosts", "PARTICLES")
	if got := clitest.Good(t, "amr", "dump", path, "0"); !strings.HasPrefix(got, "block 0: B_, level -2, refined, ") {
		t.Errorf("amr dump of block 0:\n%s", got)
	}
	if rows := strings.Split(strings.TrimSpace(clitest.Good(t, "amr", "dump", "--field", "density", path, "B_@-2")), "\n"); len(rows) != 12 || len(strings.Fields(rows[0])) != 12 {
		t.Errorf("amr dump --field: %d rows, the first %q", len(rows), rows[0])
	}
	var d struct {
		Name   string
		Leaf   bool
		Fields []struct {
			Min, Max, Mean float64
			Values         []float64
			Shape          []int
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "amr", "dump", "--json", "--field", "density", path, "5")), &d))
	if len(d.Fields) != 4 || len(d.Fields[0].Values) != 144 || d.Fields[1].Values != nil || !(d.Fields[0].Min <= d.Fields[0].Mean && d.Fields[0].Mean <= d.Fields[0].Max) {
		t.Errorf("amr dump --json: %+v", d)
	}
}

// TestAmrConvert checks that a conversion there and back, with other files and another order, preserves the data.
func TestAmrConvert(t *testing.T) {
	dir, check1, native := clitest.Mesh(t, "--particles", "2")
	back := filepath.Join(dir, "back")
	clitest.Good(t, "amr", "convert", "--no-sync", "--to", "cello", "--files", "200", "--order", "hilbert", check1, back)
	clitest.Holds(t, clitest.Good(t, "amr", "ls", back), "order: hilbert", "200 files")
	again := filepath.Join(dir, "again.nc")
	few := filepath.Join(dir, "few")
	clitest.Good(t, "amr", "convert", "--no-sync", "--to", "cello", "--files", "3", "--order", "morton", back, few)
	clitest.Good(t, "amr", "convert", "--no-sync", few, again)
	a := clitest.Read(t, native)
	b := clitest.Read(t, again)
	if string(a) != string(b) {
		t.Error("along another curve in 200 files, back, as netCDF: not the same bytes")
	}
	leaves := filepath.Join(dir, "leaves.nc")
	clitest.Good(t, "amr", "convert", "--no-sync", "--leaves", "--levels", "1:", "--fields", "density", check1, leaves)
	if out := clitest.Good(t, "ls", leaves); !strings.Contains(out, "block = 84") && !strings.Contains(out, "84") || strings.Contains(out, "velocity_x") {
		t.Errorf("ls of some leaves:\n%s", out)
	}
	dump := filepath.Join(dir, "dump")
	clitest.Good(t, "amr", "convert", "--no-sync", "--to", "cello", "--leaves", "--fields", "density", check1, dump)
	clitest.Shows(t, "88 blocks (88 leaves)", "amr", "ls", dump)
	yt := filepath.Join(dir, "yt")
	clitest.Shows(t, "yt.load(", "amr", "convert", "--no-sync", "--to", "yt", check1, yt)
	b = clitest.Read(t, filepath.Join(yt, filepath.Base(yt)+".block_list"))
	if n := strings.Count(string(b), "\n"); n != 112 || !strings.HasPrefix(string(b), "B00_00 ") {
		t.Errorf("%d blocks for yt: %.40q", n, b)
	}
	var res struct {
		Form          string
		Blocks, Bytes int64
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "amr", "convert", "--no-sync", "--force", "--json", check1, again)), &res))
	if res.Form != "canonical" || res.Blocks != 117 || res.Bytes != int64(len(a)) {
		t.Errorf("amr convert --json: %+v", res)
	}
}

func TestAmrCheck(t *testing.T) {
	_, dir, _ := clitest.Mesh(t)
	if out := clitest.Good(t, "amr", "check", dir); strings.Count(out, ": good") != 1 {
		t.Errorf("amr check:\n%s", out)
	}
	list := filepath.Join(dir, "block_data-1.block_list")
	b := clitest.Read(t, list)
	lines := strings.SplitAfter(string(b), "\n")
	clitest.Check(t, os.WriteFile(list, []byte(strings.Join(lines[1:], "")), 0o666))
	r := clitest.Blobio(t, "amr", "check", dir)
	if r.Code != cli.Findings || !strings.Contains(r.Out, "error: ") || !strings.Contains(r.Out, "block_data-1") {
		t.Errorf("amr check without a line of a list: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	var d struct {
		Checked []struct {
			Errors   int
			Findings []struct{ Severity, File, Message string }
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Blobio(t, "amr", "check", "--json", dir).Out), &d))
	if len(d.Checked) != 1 || d.Checked[0].Errors == 0 || d.Checked[0].Findings[0].Message == "" {
		t.Errorf("amr check --json: %+v", d)
	}
	clitest.Bad(t, cli.Findings, "blobio amr check lists all faults", "amr", "dump", dir, "0")
}

func TestAmrPlot(t *testing.T) {
	dir, check1, _ := clitest.Mesh(t)
	for i, args := range [][]string{{check1}, {"--by", "file", check1}, {"--by", "owner", "--ranks", "5", check1}, {"--no-curve", check1}} {
		out := filepath.Join(dir, "p"+string(rune('0'+i))+".png")
		clitest.Shows(t, "88 of 88 leaf blocks", append([]string{"amr", "plot", "--width", "300", "-o", out}, args...)...)
		f, err := os.Open(out)
		clitest.Check(t, err)
		img, err := png.Decode(f)
		f.Close()
		clitest.Check(t, err)
		if img.Bounds().Dx() != 600 {
			t.Errorf("amr plot %v: %v", args, img.Bounds())
		}
	}
	three := filepath.Join(dir, "three")
	clitest.Good(t, "amr", "gen", "shock", "--no-sync", "--rank", "3", "--roots", "2", "--cells", "2", "--fields", "1", three)
	svg := filepath.Join(dir, "p.svg")
	clitest.Shows(t, " of ", "amr", "plot", "--axis", "x", "--at", "0.1", "-o", svg, three)
	b := clitest.Read(t, svg)
	clitest.Holds(t, string(b), "in the plane x = 0.1")
	var d struct {
		Axis          string
		At            float64
		Drawn, Leaves int
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "amr", "plot", "--json", "--force", "-o", svg, three)), &d))
	if d.Axis != "z" || d.At != 0.5 || d.Drawn == 0 || d.Drawn >= d.Leaves {
		t.Errorf("amr plot --json: %+v", d)
	}
}

// TestAmrPlotField checks a slice of each axis, an integral, and edges. A picture of the whole field shows the extrema of the
// statistics.
func TestAmrPlotField(t *testing.T) {
	dir, flat, _ := clitest.Mesh(t)
	cube := filepath.Join(dir, "cube")
	clitest.Good(t, "amr", "gen", "shock", "--no-sync", "--rank", "3", "--roots", "2", "--cells", "4", "--fields", "1", cube)
	type shown struct {
		Field, Kind, Axis string
		Min, Max, At      float64
		Finest, Level     int
	}
	draw := func(args ...string) (d shown) {
		t.Helper()
		clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, append(args, "--json", "--force", "--width", "300", "-o", filepath.Join(dir, "f.svg"))...)), &d))
		return d
	}
	var s struct {
		Meshes []struct {
			Fields []struct{ Min, Max, Mean float64 }
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "ls", "--stats", "--field", "density", "--json", flat)), &s))
	if d, f := draw("plot", "density", flat), s.Meshes[0].Fields[0]; d.Field != "density" || d.Kind != "slice" || d.Axis != "" || d.Min != f.Min || d.Max != f.Max || d.Finest != 2 || d.Level != 2 {
		t.Errorf("%+v, want %+v", d, f)
	}
	if d := draw("amr", "plot", "density", cube, "--axis", "x", "--at", "0.1", "--blocks", "--dark"); d.Axis != "x" || d.At != 0.1 || d.Kind != "slice" || !(d.Min <= d.Max) {
		t.Errorf("%+v", d)
	}
	clitest.Holds(t, string(clitest.Read(t, filepath.Join(dir, "f.svg"))), "density at x = 0.1", "density (code units)")
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "ls", "--stats", "--json", cube)), &s))
	if d, f := draw("plot", "density", cube, "--project", "--axis", "y"), s.Meshes[0].Fields[0]; d.Kind != "projection" || d.Axis != "y" || !(d.Min <= f.Mean && f.Mean <= d.Max) {
		t.Errorf("%+v, the mean is %v", d, f.Mean) // the domain has length 1
	}
	out := filepath.Join(dir, "f.png")
	clitest.Shows(t, "density, ", "plot", "density", flat, "--log", "--colors", "red-yellow", "--between", "0.5,2", "-o", out)
	line := filepath.Join(dir, "line")
	clitest.Good(t, "amr", "gen", "shock", "--no-sync", "--rank", "1", "--roots", "8", line)
	for _, c := range []struct{ words, args string }{
		{"has no field \"none\", the fields are density", "plot none " + flat},
		{"--project needs a mesh of 3 dimensions; this mesh has 2 dimensions", "plot density --project " + flat},
		{"--by cannot be used for a picture of a field", "amr plot density --by file " + flat},
		{"--log cannot be used for a picture of blocks", "amr plot --log " + flat},
		{"--at and --project cannot be combined", "amr plot density --project --at 0.5 " + cube},
		{"one dimension", "plot density " + line},
	} {
		clitest.Bad(t, cli.Failed, c.words, append(strings.Fields(c.args), "-o", filepath.Join(dir, "no.png"))...)
	}
}

// TestAmrConvertForEnzoE checks that convert --for-enzo-e makes a checkpoint of bricks restartable. Converting it back must
// restore the data.
func TestAmrConvertForEnzoE(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	bricks(t, at("bricks"), [3]int{8, 4, 4}, true, gen.Fields(1, amr.Float64), nil)
	if r := clitest.Blobio(t, "amr", "check", "--for-enzo-e", at("bricks")); r.Code != cli.Findings {
		t.Errorf("check of bricks: %d", r.Code)
	}
	if r := clitest.Blobio(t, "amr", "convert", "--no-sync", "--to", "cello", "--for-enzo-e", at("bricks"), at("fit")); r.Code != cli.Good || strings.Contains(r.Err, "warning") {
		t.Errorf("convert --for-enzo-e: %d, %s", r.Code, r.Err)
	}
	clitest.Good(t, "amr", "check", "--for-enzo-e", at("fit"))
	clitest.Good(t, "diff", at("bricks"), at("fit"))
	if r := clitest.Blobio(t, "amr", "convert", "--no-sync", "--to", "cello", at("fit"), at("back")); r.Code != cli.Good || !strings.Contains(r.Err, "Enzo-E cannot restart from the output: field_density: ") {
		t.Errorf("convert: %d, %s", r.Code, r.Err)
	}
	clitest.Good(t, "diff", at("bricks"), at("back"))
	if r := clitest.Blobio(t, "amr", "check", "--for-enzo-e", at("back")); r.Code != cli.Findings {
		t.Errorf("check of what was made back: %d", r.Code)
	}
	clitest.Bad(t, cli.Failed, "is not for a dump", "amr", "convert", "--to", "cello", "--for-enzo-e", "--leaves", at("bricks"), at("no"))
	clitest.Bad(t, cli.Failed, "does not apply to --to canonical", "amr", "convert", "--for-enzo-e", at("bricks"), at("no.nc"))
	clitest.Bad(t, cli.Failed, "--grids does not belong to --to cello", "amr", "convert", "--to", "cello", "--grids", at("bricks"), at("no"))
	clitest.Good(t, "amr", "convert", "--no-sync", "--grids", at("fit"), at("grids.nc"))
	clitest.Holds(t, clitest.Good(t, "dump", "--header", at("grids.nc")), "double density_1(z_1, y_1, x_1) ;", `x_1:axis = "X" ;`)
}

func TestAmrGen(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"uniform --roots 2 --levels 1 --files 60 --cut bytes --enzo-float f32", "21 blocks (16 leaves), 60 files"},
		{"shock --rank 1 --roots 8 --particles 3 --double", "leaves), 1 file"},
		{"shock --rank 3 --roots 2 --at 0.25 --ghosts", "Cello checkpoint"},
	} {
		out := filepath.Join(dir, strings.Fields(c.args)[0]+string(rune('a'+len(c.args)%26)))
		args := append([]string{"amr", "gen", "--no-sync", "--cells", "4"}, strings.Fields(c.args)...)
		clitest.Shows(t, c.want, append(args, out)...)
		clitest.Shows(t, "good", "amr", "check", out)
	}
}

func TestAmrRefuses(t *testing.T) {
	dir, check1, native := clitest.Mesh(t)
	empty, lists, inside := filepath.Join(dir, "empty"), filepath.Join(dir, "lists"), filepath.Join(dir, "text")
	clitest.Check(t, os.Mkdir(empty, 0o777))
	clitest.Check(t, os.Mkdir(lists, 0o777))
	clitest.Check(t, os.WriteFile(filepath.Join(lists, "block_data-0.block_list"), nil, 0o666))
	clitest.Check(t, os.Mkdir(inside, 0o777))
	clitest.Check(t, os.WriteFile(filepath.Join(inside, "readme.txt"), []byte("hello"), 0o666))
	out := filepath.Join(dir, "out")
	for _, c := range []struct{ words, args string }{
		{"no file, directory or dataset of this name", "amr ls " + dir + "/none"},
		{"is an empty directory", "amr check " + empty},
		{"block lists, but no check.file_list", "amr ls " + lists},
		{"not a checkpoint directory: it has no check.file_list", "amr ls " + inside},
		{"give one of the checkpoints", "amr ls " + dir},
		{"give its directory: " + check1, "amr ls " + check1 + "/block_data-0.h5"},
		{"give its directory: " + check1, "amr ls " + check1 + "/block_data-0.block_list"},
		{"is a file, want the directory of a checkpoint (blobio ls shows datasets)", "amr ls " + native},
		{"is a file, want the directory of a checkpoint", "amr check " + native},
		{"is a file, want the directory of a checkpoint", "amr convert --to cello " + native + " " + out},
		{`unknown command "lss" for "blobio amr", did you mean ls?`, "amr lss"},
		{"--ranks 0", "amr ls --ranks 0 " + check1},
		{"a block", "amr dump " + check1},
		{`no block "B9"`, "amr dump " + check1 + " B9"},
		{"want a name (B01_10) or a number", "amr dump " + check1 + " x"},
		{"block 117 of 117", "amr dump " + check1 + " 117"},
		{`has no field "x", the fields are density`, "amr dump --field x " + check1 + " 1"},
		{"already exists (blobio does not replace directories", "amr convert --to cello " + check1 + " " + check1},
		{"already exists (--force replaces the output)", "amr convert " + check1 + " " + native},
		{"is a directory", "amr convert --force " + check1 + " " + empty},
		{"--files does not apply to --to canonical", "amr convert --files 3 " + check1 + " " + out},
		{"want levels from -2 to 2", "amr convert --levels 3: " + check1 + " " + out},
		{"want FIRST:LAST", "amr convert --levels a " + check1 + " " + out},
		{`has no field "x"`, "amr convert --fields x " + check1 + " " + out},
		{"--force does not replace directories", "amr convert --to cello --force " + check1 + " " + out},
		{"want a name that ends in .png or .svg", "amr plot " + check1},
		{"--order does not apply to --to yt", "amr convert --to yt --order hilbert " + check1 + " " + out},
		{"--by owner needs --ranks", "amr plot --by owner -o " + out + ".png " + check1},
		{"--axis and --at need a mesh of 3 dimensions", "amr plot --at 1 -o " + out + ".png " + check1},
		{`mesh "x", want uniform`, "amr gen x " + out},
		{"--rank 4", "amr gen shock --rank 4 " + out},
		{"--at applies only to shock", "amr gen uniform --at 0.5 " + out},
		{"already exists", "amr gen shock " + check1},
		{"leaf blocks, want at most", "amr gen uniform --rank 3 --levels 20 " + out},
	} {
		clitest.Bad(t, cli.Failed, c.words, strings.Fields(c.args)...)
	}
	if clitest.There(out) {
		t.Error("something was written")
	}
}

// A sound checkpoint may not fit the precision or the maximum level of the run that restarts.
func TestAmrCheckForRestart(t *testing.T) {
	_, check1, _ := clitest.Mesh(t)
	clitest.Good(t, "amr", "check", check1)
	clitest.Good(t, "amr", "check", "--enzo-float", "f32", "--max-level", "2", check1)
	for _, c := range [][2]string{
		{"--enzo-float f64", "enzo_dt: float32, the program has float64 (Enzo-E runs on with wrong data"},
		{"--max-level 1", "level: 2, want at most max_level 1 (Enzo-E crashes)"},
	} {
		args := append(append([]string{"amr", "check"}, strings.Fields(c[0])...), check1)
		if r := clitest.Blobio(t, args...); r.Code != cli.Findings || !strings.Contains(r.Out, c[1]) {
			t.Errorf("%v: exit %d, %s", args, r.Code, r.Out)
		}
	}
	clitest.Bad(t, cli.Failed, "--max-level -1, want 0 to 20", "amr", "check", "--max-level", "-1", check1)
}

// If OUT.partial contains foreign files, the error must name OUT.partial, because OUT does not exist.
func TestAmrPartialOfOthers(t *testing.T) {
	dir, check1, _ := clitest.Mesh(t)
	partial := filepath.Join(dir, "out.partial")
	clitest.Check(t, os.Mkdir(partial, 0o777))
	clitest.Check(t, os.WriteFile(filepath.Join(partial, "notes.txt"), nil, 0o666))
	clitest.Bad(t, cli.Failed, "out.partial: notes.txt in this directory was not written by this program", "amr", "convert", "--to", "cello", check1, filepath.Join(dir, "out"))
}

func TestAmrInterrupted(t *testing.T) {
	dir, check1, _ := clitest.Mesh(t)
	for n := int64(1); n < 60; n += 3 {
		for _, args := range [][]string{{"amr", "convert", "--no-sync", check1}, {"amr", "convert", "--no-sync", "--to", "cello", check1}} {
			out := filepath.Join(dir, "out")
			ctx := &clitest.StopCtx{Context: t.Context(), Ended: make(chan struct{})}
			ctx.Left.Store(n)
			r := clitest.BlobioCtx(ctx, append(args, out)...)
			if r.Code == cli.Failed {
				if !strings.HasPrefix(r.Err, "blobio: interrupted") {
					t.Errorf("cancelled at look %d: %s", n, r.Err)
				}
			}
			if clitest.There(out) {
				clitest.Good(t, "check", out)
				clitest.Check(t, os.RemoveAll(out))
			}
			if left := clitest.Names(t, dir); left != "Check-00 mesh.nc" {
				t.Fatalf("%v, cancelled at look %d: left %q", args, n, left)
			}
		}
	}
}

// TestAmrUnfinished checks that the remains of a dead writer are called unfinished, with advice.
func TestAmrUnfinished(t *testing.T) {
	dir, check1, _ := clitest.Mesh(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	clitest.Check(t, os.CopyFS(at("dead.partial"), os.DirFS(check1)))
	clitest.Check(t, os.Remove(at("dead.partial/check.file_list")))
	clitest.Check(t, os.WriteFile(at("dead.partial/blobio.writing"), []byte("id\n"), 0o666))
	clitest.Check(t, os.CopyFS(at("late.partial"), os.DirFS(check1)))
	for _, verb := range [][]string{{"ls"}, {"check"}, {"dump", "0"}, {"convert", at("out.nc")}} {
		for name, want := range map[string]string{
			"dead":         ".partial is an unfinished dead: a program is writing it, or died before the end (if no program is writing it, remove it, or write " + at("dead") + " again to replace it)",
			"dead.partial": at("dead.partial") + " is an unfinished dead",
			"late":         "the checkpoint is complete, but was not renamed (mv " + at("late.partial") + " " + at("late") + ")",
		} {
			clitest.Bad(t, cli.Failed, want, append([]string{"amr", verb[0], at(name)}, verb[1:]...)...)
		}
	}
	clitest.Good(t, "amr", "check", at("late.partial"))
}

// TestAmrDumpToCheckpoint checks that the output of a dump is a dump.
func TestAmrDumpToCheckpoint(t *testing.T) {
	dir, check1, _ := clitest.Mesh(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	clitest.Shows(t, "Cello dump, 96 blocks", "amr", "convert", "--no-sync", "--to", "cello", "--levels", "1:2", check1, at("C"))
	clitest.Shows(t, "Cello dump, 96 blocks", "amr", "convert", "--no-sync", "--to", "cello", "--files", "5", at("C"), at("D"))
	clitest.Shows(t, "a data dump", "amr", "check", "--notes", at("D"))
	// Without the manifest, nothing marks the output as a dump.
	clitest.Check(t, os.Remove(filepath.Join(at("C"), cellodir.Manifest)))
	clitest.Bad(t, cli.Failed, "so no program can restart from it: 16 blocks missing (16 of level 0), such as B00_00 (convert the complete checkpoint, or give --levels 1:2 to make",
		"amr", "convert", "--to", "cello", at("C"), at("E"))
}
