package mesh_test

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/amr/cello"
	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/mesh"
	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/amr/gen"
	"blobio/internal/cli"
)

// bricks writes a Cello checkpoint with block shapes that gen does not make, with fields of bricks and of cubes.
func bricks(t *testing.T, dir string, cells [3]int, ghosts bool, fields []amr.FieldSpec, particles []amr.ParticleSpec) {
	t.Helper()
	g := gen.Geometry(3, 2, 4, 2, 1)
	g.Block = cells
	tree, err := gen.Sphere(&g, [3]float64{0.5, 0.5, 0.5}, 0.1)
	clitest.Check(t, err)
	set := gen.NewSet(tree, 1, fields, particles)
	set.Ghosts = ghosts
	clitest.Check(t, cello.Write(context.Background(), comm.Self(), dir, set.Meta, set.All(), &cello.Options{Files: 2, Ghosts: ghosts, NoSync: true}))
}

// real removes the manifest, so that a checkpoint appears to be from the real program.
func real(t *testing.T, dir string) {
	t.Helper()
	clitest.Check(t, os.Remove(filepath.Join(dir, cellodir.Manifest)))
}

// TestAmrScrambled checks that every copy preserves the mark of scrambled fields.
func TestAmrScrambled(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	bricks(t, at("Real"), [3]int{4, 4, 4}, false, gen.FaceFields(3, amr.Float64), nil)
	real(t, at("Real"))
	const hint = "--accept-scrambled reads the cells unchanged"
	clitest.Bad(t, cli.Failed, hint, "amr", "convert", at("Real"), at("no"))
	if clitest.There(at("no")) {
		t.Error("there is an output")
	}
	convert := func(args ...string) {
		t.Helper()
		if r := clitest.Blobio(t, append([]string{"amr", "convert", "--no-sync", "--accept-scrambled"}, args...)...); r.Code != cli.Good {
			t.Fatalf("%v: %s", args, r.Err)
		}
	}
	convert(at("Real"), at("a.nc"))
	convert("--to", "cello", "--files", "3", at("Real"), at("C"))
	convert("--to", "cello", at("C"), at("D"))
	for _, name := range []string{"Real", "C", "D"} {
		r := clitest.Blobio(t, "amr", "check", at(name))
		if r.Code != cli.Findings || strings.Count(r.Out, "are in the wrong places") != 2 || strings.Contains(r.Out, "field_bfield_y: ") {
			t.Errorf("check of %s: %d, %s", name, r.Code, r.Out)
		}
		clitest.Bad(t, cli.Failed, hint, "amr", "dump", at(name), "0")
		clitest.Bad(t, cli.Failed, hint, "amr", "convert", at(name), at("no"))
		if out := clitest.Good(t, "amr", "ls", at(name)); strings.Count(out, " scrambled") != 2 {
			t.Errorf("ls of %s: %s", name, out)
		}
	}
	// A file with only correct fields has no mark.
	if out := clitest.Good(t, "dump", "--header", at("a.nc")); strings.Count(out, ":scrambled = 1 ;") != 2 {
		t.Errorf("dump --header: %s", out)
	}
	convert("--fields", "density,bfield_y", at("Real"), at("right.nc"))
}

// TestAmrUnfit checks sound checkpoints on which Enzo-E aborts or misbehaves. check reports errors only with --for-enzo-e.
// Verbs that write such a checkpoint print a warning.
func TestAmrUnfit(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	fields, mhd := gen.Fields(1, amr.Float64), gen.FaceFields(3, amr.Float64)
	silent := "(Enzo-E ends with exit code 0 and wrong fields, without a message)"
	for _, c := range []struct {
		name      string
		cells     [3]int
		ghosts    bool
		fields    []amr.FieldSpec
		particles []amr.ParticleSpec
		real      bool
		want      string // "" if a restart is possible
		lines     int
	}{
		{"cubes", [3]int{4, 4, 4}, true, fields, nil, false, "", 0},
		{"symmetric", [3]int{4, 6, 4}, false, fields, nil, true, "", 0},
		{"bricks with ghosts", [3]int{8, 4, 4}, true, fields, nil, true, "shape [12 8 8] with ghosts is not symmetric (Enzo-E aborts when it restarts)", 1},
		{"ours, with ghosts", [3]int{8, 4, 4}, true, fields, nil, false, "with ghosts is not symmetric (Enzo-E aborts when it restarts)", 1},
		{"mhd with ghosts", [3]int{4, 4, 4}, true, mhd, nil, true, "(Enzo-E aborts when it restarts)", 2},
		{"mhd", [3]int{4, 4, 4}, false, mhd, nil, true, "cannot be restored " + silent, 2},
		{"bricks with particles", [3]int{8, 4, 4}, false, fields, gen.Tracers(3), true, "cannot be restored (Enzo-E goes on with wrong fields, and aborts when a particle is out of bounds)", 1},
		{"long bricks", [3]int{4, 4, 12}, false, fields, nil, true, "cannot be restored (Enzo-E aborts when it restarts)", 1},
		{"ours, mhd", [3]int{4, 4, 4}, false, mhd, nil, false, "is correct here, but not symmetric " + silent, 2},
	} {
		bricks(t, at(c.name), c.cells, c.ghosts, c.fields, c.particles)
		if c.real {
			real(t, at(c.name))
		}
		scrambled := strings.Contains(c.want, "cannot be restored")
		for _, verb := range [][]string{{"amr", "check", "--notes", at(c.name)}, {"check", "--notes", at(c.name)}} {
			r := clitest.Blobio(t, verb...)
			if (r.Code == cli.Good) == scrambled || strings.Contains(r.Out, "error: ") != scrambled || strings.Contains(r.Out, "--for-enzo-e") != (c.want != "" && !scrambled) {
				t.Errorf("%v: %d\n%s", verb, r.Code, r.Out)
			}
		}
		r := clitest.Blobio(t, "amr", "check", "--for-enzo-e", at(c.name))
		if (r.Code == cli.Good) != (c.want == "") || strings.Count(r.Out, "error: ") != c.lines || !strings.Contains(r.Out, c.want) {
			t.Errorf("%s: %d\n%s", c.name, r.Code, r.Out)
		}
		if sums := "the checkpoint has no checksums"; strings.Contains(r.Out, sums) != c.real {
			t.Errorf("%s: %s", c.name, r.Out)
		}
	}
	// Removing the ghost zones of a checkpoint gives a warning. A dump gives none, because Enzo-E does not read dumps.
	r := clitest.Blobio(t, "amr", "convert", "--no-sync", "--no-ghosts", "--to", "cello", at("mhd with ghosts"), at("out"))
	if r.Code != cli.Good || strings.Count(r.Err, "blobio: warning: ") != 2 || !strings.Contains(r.Err, "Enzo-E cannot restart from the output: field_bfield_x: ") {
		t.Errorf("convert --no-ghosts: %d, %s", r.Code, r.Err)
	}
	clitest.Good(t, "amr", "check", at("out"))
	if r := clitest.Blobio(t, "amr", "check", "--for-enzo-e", at("out")); r.Code != cli.Findings {
		t.Errorf("check of it: %s", r.Out)
	}
	clitest.Good(t, "amr", "convert", "--no-sync", "--no-ghosts", "--to", "cello", "--leaves", at("mhd with ghosts"), at("dump"))
	clitest.Good(t, "amr", "check", at("dump"))
	if r := clitest.Blobio(t, "amr", "check", "--for-enzo-e", at("dump")); r.Code != cli.Findings || !strings.Contains(r.Out, "error: ") || !strings.Contains(r.Out, "a data dump") {
		t.Errorf("check of the dump: %s", r.Out)
	}
}

// TestAmrNoVerify checks that --no-verify accepts damaged data, and that outputs made from them are marked permanently.
func TestAmrNoVerify(t *testing.T) {
	dir, path, _ := clitest.Mesh(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	file := filepath.Join(path, "block_data-1.h5")
	info, err := os.Stat(file)
	clitest.Check(t, err)
	for off := info.Size() - 100; ; off -= 50 { // some bytes are padding
		flipBit(t, file, off, 0)
		if r := clitest.Blobio(t, "amr", "check", path); r.Code == cli.Findings {
			break
		}
		flipBit(t, file, off, 0)
	}
	out := at("rescued")
	clitest.Bad(t, cli.Findings, "--no-verify reads the data without verifying checksums", "amr", "convert", path, out)
	for _, args := range [][]string{{path, out + ".nc"}, {"--to", "cello", path, out}} {
		r := clitest.Blobio(t, append([]string{"amr", "convert", "--no-sync", "--no-verify"}, args...)...)
		if r.Code != cli.Good || !strings.HasPrefix(r.Err, "blobio: warning: "+path+" was not compared with its checksums") {
			t.Fatalf("convert --no-verify: %d, %s", r.Code, r.Err)
		}
	}
	clitest.Shows(t, ":unverified = 1 ;", "dump", "--header", out+".nc")
	clitest.Good(t, "amr", "convert", "--no-sync", "--to", "cello", out, out+"2")
	for _, name := range []string{out, out + "2"} {
		if got := clitest.Blobio(t, "amr", "check", name); got.Code != cli.Good || !strings.Contains(got.Out, "made from unverified data") || strings.Contains(got.Out, ": good") {
			t.Errorf("check of %s: %s", name, got.Out)
		}
	}
	clitest.Bad(t, cli.Failed, "", "amr", "plot", "-o", at("p.svg"), at("none"))
	for _, verb := range [][]string{{"dump", path, "0"}, {"ls", path}, {"plot", path, "--force", "-o", at("p.svg")}} {
		if r := clitest.Blobio(t, append([]string{"amr", verb[0], "--no-verify"}, verb[1:]...)...); r.Code != cli.Good {
			t.Errorf("%v --no-verify: %s", verb, r.Err)
		}
	}
}

// TestAmrPeriodic checks that blocks at a periodic border are neighbours of the blocks at the opposite border, and that
// their neighbour lists agree.
func TestAmrPeriodic(t *testing.T) {
	dir := t.TempDir()
	for axes, want := range map[string]int{"": 0, "x": 1, "xy": 2, "all": 2} {
		path := filepath.Join(dir, "P"+axes)
		clitest.Good(t, "amr", "gen", "uniform", "--no-sync", "--levels", "0", "--cells", "4", "--periodic", axes, path)
		clitest.Good(t, "amr", "check", path)
		if out := clitest.Good(t, "amr", "ls", path); strings.Count(out, "(periodic)") != want {
			t.Errorf("ls %s:\n%s", path, out)
		}
	}
	for _, axes := range []string{"z", "xq", "ally"} {
		clitest.Bad(t, cli.Failed, `, want all, or some of the axes xy`, "amr", "gen", "uniform", "--periodic", axes, filepath.Join(dir, "no"))
	}
	// The mesh is refined at the border, so the tree must be balanced across the border.
	path := filepath.Join(dir, "shock")
	clitest.Good(t, "amr", "gen", "shock", "--no-sync", "--cells", "4", "--at", "0.1", "--levels", "3", "--periodic", "all", path)
	clitest.Good(t, "amr", "check", path)
}

// TestAmrCheckBounded checks that only a few findings of each kind are printed, and that the number of findings not shown is printed.
func TestAmrCheckBounded(t *testing.T) {
	_, dir, _ := clitest.Mesh(t)
	real(t, dir)
	list := filepath.Join(dir, "block_data-1.block_list")
	b := clitest.Read(t, list)
	clitest.Check(t, os.WriteFile(list, append(b, b...), 0o666))
	r := clitest.Blobio(t, "amr", "check", dir)
	if n := strings.Count(r.Out, "listed twice"); r.Code != cli.Findings || n != mesh.MostOfKind || !strings.Contains(r.Out, "error: 19 more findings of this kind (Enzo-E hangs)\n") {
		t.Errorf("%d lines of a kind:\n%s", n, r.Out)
	}
}

// TestAmrImplausible checks that values which no run produces are warnings.
func TestAmrImplausible(t *testing.T) {
	dir, check1, _ := clitest.Mesh(t, "--particles", "4", "--double")
	at := func(name string) string { return filepath.Join(dir, name) }
	spoiled := at("spoiled")
	spoilBlocks(t, check1, spoiled)
	r := clitest.Blobio(t, "amr", "check", spoiled)
	for _, w := range []string{"field_density: ", "1 of 1408 values in leaves are not-a-number", "1 of 1408 values in leaves are negative", "field_velocity_x: ", "are infinite",
		"trace: ", "particles in leaves are more than one block away", "dt: ", "0.5 in 1 of "} {
		if r.Code != cli.Good || !strings.Contains(r.Out, w) || !strings.Contains(r.Out, "6 warnings") {
			t.Errorf("check of %s: %d, no %q:\n%s", spoiled, r.Code, w, r.Out)
		}
	}
	clitest.Good(t, "amr", "check", check1)
}

// spoilBlocks copies a checkpoint and puts implausible values into the last leaf of the copy.
func spoilBlocks(t *testing.T, from, to string) {
	t.Helper()
	ctx := context.Background()
	k, err := cello.Open(ctx, from, nil)
	clitest.Check(t, err)
	defer k.Close()
	var list []*amr.Block
	for i := range k.Blocks() {
		b, err := k.Block(ctx, i)
		clitest.Check(t, err)
		list = append(list, b)
	}
	last := len(list) - 1
	for !list[last].Leaf || list[last].Particles[0].N == 0 {
		last--
	}
	b := list[last]
	put := func(d []byte, i int, v float64) { binary.NativeEndian.PutUint64(d[8*i:], math.Float64bits(v)) }
	put(b.Fields[0].Data, 0, math.NaN())
	put(b.Fields[0].Data, 1, -2)
	put(b.Fields[1].Data, 3, math.Inf(-1))
	put(b.Particles[0].Data[0], 0, 1e9)
	b.Dt = 0.5
	b.Attrs = nil
	clitest.Check(t, cello.Write(ctx, comm.Self(), to, k.Meta(), list, &cello.Options{NoSync: true}))
}

// flipBit flips a bit of a file; a second call restores it.
func flipBit(t *testing.T, name string, at int64, bit byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	clitest.Check(t, err)
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	clitest.Check(t, err)
	b[0] ^= 1 << bit
	_, err = f.WriteAt(b, at)
	clitest.Check(t, err)
}
