package main

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"blobio/blob"
)

// toolbox builds the peers, or skips the test where that cannot be.
func toolboxFor(t *testing.T) *toolbox {
	t.Helper()
	if runtime.GOARCH == "386" || runtime.GOARCH == "s390x" {
		t.Skip("the peers are built for the machine itself")
	}
	b, err := findMPI(t.Context())
	if err == nil {
		err = b.BuildPeers(t.Context(), relative(t, filepath.Join(t.TempDir(), "peers")))
	}
	if errors.Is(err, errNoPeers) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// relative is the path from here.
func relative(t *testing.T, path string) string {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if path, err = filepath.Rel(here, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPeers needs MPI and the libraries. Starting processes takes most of its time.
func TestPeers(t *testing.T) {
	b := toolboxFor(t)
	peersWriteTheSame(t, b)
}

// peersWriteTheSame is a second test of interoperability beside the
// vectors: the values are unlike at every place, so that a wrong order shows.
func peersWriteTheSame(t *testing.T, b *toolbox) {
	for _, j := range []Job{
		{Case: "F_h0", Ranks: 3, Maps: MapSource{Ne: 2, Levels: 5}, Float: true},
		{Case: "F_h1", Ranks: 2, Records: 3, Maps: MapSource{Ne: 2, Levels: 3}},
		{Case: "G", Ranks: 2, Records: 2, Flush: -1, Maps: MapSource{Cells: 120, Levels: 4}},
		{Case: "I_h0", Ranks: 2, Records: 2, Maps: MapSource{Lat: 12, Lon: 18}, Float: true, FileMem: true},
	} {
		t.Run(j.Case, func(t *testing.T) {
			task, err := j.load()
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			v := &verifier{t: task, box: b, dir: dir}
			for _, p := range allPeers {
				if !b.Has(p) {
					what := "SKIPPED: no"
					if p == adios2Blob { // Debian 12 has none
						what = "without"
					}
					t.Logf("%s %s", what, p.Name)
					continue
				}
				if p == netcdf4Canonical && j.Case != "F_h1" || strings.HasSuffix(p.prog, "canonical") && j.Case == "I_h0" {
					continue // takes long; the I maps leave holes, which the libraries fill in their own ways
				}
				if err := v.verify(t.Context(), p, Tuning{IO: "ompio"}); err != nil {
					t.Errorf("%s: %v", p.Name, err)
				}
			}
		})
	}
}

// TestPeerDifferenceShows: the comparison can fail.
func TestPeerDifferenceShows(t *testing.T) {
	j := Job{Case: "F_h1", Ranks: 2, Maps: MapSource{Ne: 2, Levels: 2}}
	task, err := j.load()
	if err != nil {
		t.Fatal(err)
	}
	data, err := task.fillAll()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		name := filepath.Join(dir, l.String())
		if _, err := task.once(context.Background(), data, name, task.options(l)); err != nil {
			t.Fatal(err)
		}
		compare := func(theirs string) error {
			if l == blob.VariableCentric {
				return task.compareVariableCentric(name+".0000", theirs)
			}
			return compareProcessCentric(name+".0000", theirs)
		}
		b, err := os.ReadFile(name + ".0000")
		if err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(dir, "other")
		for i, want := range []error{nil, errDiffer} {
			if i == 1 {
				b[len(b)-5] ^= 1
			}
			if err := os.WriteFile(other, b, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := compare(other); !errors.Is(err, want) {
				t.Errorf("%v, copy %d: %v, want %v", l, i, err, want)
			}
		}
	}
}

// A verifier removes the files that it has made, whatever its directory is called: they would be taken for files of another job. Files of others stay.
func TestVerifierRemoves(t *testing.T) {
	v := &verifier{dir: filepath.Join(t.TempDir(), "a[b]")}
	if err := os.Mkdir(v.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	v.job = filepath.Join(v.dir, "job")
	const others = "job.pnetcdf_blob.4"
	for _, name := range []string{"ours.variable-centric.0000", "ours.variable-centric.manifest", "job", others} {
		if err := os.WriteFile(filepath.Join(v.dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	v.remove()
	if left, err := os.ReadDir(v.dir); err != nil || len(left) != 1 || left[0].Name() != others {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestRealIsTried: a program that is not E3SM-IO is an error before anything is measured, and what one cannot do is left out.
func TestRealIsTried(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("shell scripts")
	}
	dir := t.TempDir()
	a := against{"I h0", Job{Case: "I_h0", Records: 1, Flush: 1, Maps: MapSource{Files: []string{"map.nc"}}}}
	for _, c := range []struct {
		says  string
		works int
		err   string
	}{
		{`case "$*" in *hdf5*) echo "Error: no HDF5 here"; exit 3;; esac; echo " Time of I/O preparing min/max = 0.1 / 0.1"; echo " end-to-end time  min/max =  0.1 / 0.2"`, 1, ""},
		{`echo hello`, 0, "no line like"},
		{`echo " end-to-end time  min/max =  0.0 / 0.0"`, 0, "end-to-end time of 0"},
		{`exit 7`, 0, "exit status 7"},
	} {
		mpirun := filepath.Join(dir, "mpirun")
		if err := os.WriteFile(mpirun, []byte("#!/bin/sh\n"+c.says+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		s := newSession(Options{PeerBins: []string{"e3sm_io"}, Log: func(string) {}}, dir)
		s.box = &toolbox{mpirun: mpirun}
		works, err := s.tryReal(t.Context(), a, pnetCDFBlob, hdf5Blob)
		if len(works) != c.works || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, %v", c.says, works, err)
		}
		if want := 2 - c.works; len(s.res.Skipped) != want {
			t.Errorf("%s: skipped %q, want %d", c.says, s.res.Skipped, want)
		}
	}
}

func TestRealProgram(t *testing.T) {
	j := Job{Case: "I_h0", Ranks: 4, Records: 3, Flush: 1, Maps: MapSource{Files: []string{"map_i_case_16p.nc"}, Factor: 10}}
	args, err := realArgs(pnetCDFBlob, &j, "out.nc")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(args, " "), "-a pnetcdf -x blob -r 3 -y 1 -o out.nc -f 0 -e 10 map_i_case_16p.nc"; got != want {
		t.Errorf("arguments %q, want %q", got, want)
	}
	const prints = "PnetCDF library version            = 1.12.3\nTime of I/O preparing              min/max =   0.0500 /   0.0625\n" +
		" Time of close                      min/max =   0.0029 /   0.0030\n end-to-end time                    min/max =   0.3175 /   0.3125\n"
	took, err := parseReal([]byte(prints))
	if err != nil || took.Seconds != 0.25 || took.Note != "1.12.3" {
		t.Errorf("%v, %v: the time in which it makes its data is not one of writing", took, err)
	}
	if took, err = parseReal([]byte(strings.Replace(prints, "1.12.3", "\xe0\x10\x7f", 1))); err != nil || took.Note != "" {
		t.Errorf("%q, %v: not a version", took.Note, err)
	}
	for _, bad := range []string{strings.Replace(prints, "0.0625", "0.3125", 1), strings.Replace(prints, "preparing", "prepared", 1)} {
		if _, err := parseReal([]byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
	if _, err := parseReal([]byte("Error: no file\n")); err == nil {
		t.Error("no error where no time is printed")
	}
}

// TestSteadiest: the turns that are kept are chosen by their spread, whoever was fast in them.
func TestSteadiest(t *testing.T) {
	a := &Row{Seconds: []float64{1, 9, 1, 5, 5, 5.1, 2}, Load: []float64{0, 1, 2, 3, 4, 5, 6}}
	b := &Row{Seconds: []float64{1, 1, 1, 2, 2, 2, 2}, Phases: map[string][]float64{"put": {0, 1, 2, 3, 4, 5, 6}}}
	from, least := steadiest([]runner{{row: a}, {row: b}}, 3)
	if from != 3 || math.Abs(least-0.01) > 1e-12 {
		t.Errorf("from %d with a spread of %v", from, least)
	}
	a.window(from, 3)
	b.window(from, 3)
	if !slices.Equal(a.Seconds, []float64{5, 5, 5.1}) || !slices.Equal(a.Load, []float64{3, 4, 5}) || a.Turns != 7 {
		t.Errorf("%+v", a)
	}
	if !slices.Equal(b.Phases["put"], []float64{3, 4, 5}) {
		t.Errorf("%+v", b)
	}
	if s := spread([]float64{4, 1, 3, 2, 5}); math.Abs(s-2.0/3) > 1e-12 {
		t.Errorf("spread %v", s)
	}
}

// TestHintsReachPrograms: E3SM-IO takes no hints but by the environment.
func TestHintsReachPrograms(t *testing.T) {
	dir := t.TempDir()
	env, err := Tuning{IO: "romio321", Hints: []string{"a=1", "b=two"}}.environ(dir)
	name := filepath.Join(dir, "romio.hints")
	if err != nil || !slices.Equal(env, []string{"PNETCDF_HINTS=a=1;b=two", "ROMIO_HINTS=" + name}) {
		t.Fatalf("%q, %v", env, err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "a 1\nb two\n" {
		t.Errorf("%q, %v", b, err)
	}
	if env, err := (Tuning{IO: "ompio"}).environ(dir); env != nil || err != nil {
		t.Errorf("%q, %v", env, err)
	}
}

// TestQuick runs what can be run here at the smallest size, and leaves nothing.
func TestQuick(t *testing.T) {
	b := toolboxFor(t)
	dir := t.TempDir()
	r, err := run(t.Context(), Options{Dir: dir, Runs: 2, Quick: true, Peers: b.dir, Log: func(s string) { t.Log(s) }}, []string{"peers"})
	if err != nil || len(r.Rows) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
