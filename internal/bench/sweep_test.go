package bench

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"blobio/internal/base/durable"
)

// smallSweep returns a plan with tiny data.
func smallSweep(dir string, axes map[string][]string) SweepOptions {
	return SweepOptions{State: filepath.Join(dir, "sweep.json"), Plan: SweepPlan{Axes: axes, Records: 3, Even: EvenSize{Vars: 2, Elements: 30, Pieces: 3},
		Repeats: 2, Verify: true, Dir: dir, Memory: 1 << 20}}
}

// left returns the names in a directory, except files of stored results.
func left(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() != "sweep.json" {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestSweep writes, reads and verifies each point in each possible way. Only the results remain.
func TestSweep(t *testing.T) {
	for _, c := range []struct {
		points int
		change func(p *SweepPlan)
	}{
		{4, func(p *SweepPlan) {
			p.Axes = map[string][]string{"ranks": {"1", "7"}, "layout": {"variable", "process"}, "ranks-per-node": {"3"}, "subfiles": {"1/node"}}
		}},
		{2, func(p *SweepPlan) {
			p.Axes = map[string][]string{"ranks": {"4"}, "layout": {"variable"}, "flush": {"2"}, "async": {"no", "yes"}, "read": {"cold"}, "fixed-records": {"no"}}
			p.Float = true
			if _, err := exec.LookPath("sh"); err == nil {
				p.Drop = "true"
			}
		}},
		{3, func(p *SweepPlan) { // compression skips the points of one layout
			p.Axes = map[string][]string{"ranks": {"3"}, "layout": {"variable", "process"}, "compress": {"off", "zstd:1"}, "retain": {"copy"}}
		}},
		{2, func(p *SweepPlan) { // memory for one record at a time
			p.Axes = map[string][]string{"ranks": {"2", "4"}, "buffer": {"65536"}, "durability": {"none"}}
			p.Weak, p.Memory = true, 2000
		}},
		{2, func(p *SweepPlan) {
			p.Axes = map[string][]string{"ranks": {"2", "4"}, "case": {"I_h0"}, "subfiles": {"1/target"}, "compute": {"0.001"}}
			p.Sizes, p.Targets, p.Weak = MapSource{Lat: 6, Lon: 9}, 2, true
			p.Memory = 1 << 30
		}},
		{3, func(p *SweepPlan) {
			p.Axes = map[string][]string{"ranks": {"2"}, "case": {"F_h0", "F_h1", "G"}, "layout": {"process"}}
			p.Sizes, p.Memory, p.Repeats = MapSource{Ne: 1, Levels: 3, Cells: 40}, 1<<30, 1
		}},
	} {
		dir := t.TempDir()
		o := smallSweep(dir, nil)
		c.change(&o.Plan)
		o.Log = func(s string) { t.Error(s) }
		table, err := o.Plan.Table(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, err := RunSweep(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if s.Points != c.points || len(table.Points) != c.points || len(s.Runs) != c.points*o.Plan.Repeats || s.Failed() != 0 {
			t.Errorf("%v: %d points, %d in the table, %d runs, %d failed", o.Plan.Axes, s.Points, len(table.Points), len(s.Runs), s.Failed())
		}
		for i := range s.Runs {
			r := &s.Runs[i]
			if at := s.values(r); r.Verified == 0 || r.Data == 0 || r.Bytes < r.Held/2 || r.Write <= 0 || r.Read <= 0 || r.Files == 0 || r.Phases["close"].Max < r.Phases["close"].Avg || r.Phases["close"].Avg < r.Phases["close"].Min ||
				at["compute"] != "0" && r.Phases["compute"].Min < 0.001*float64(s.Plan.Records) {
				t.Errorf("%+v", r)
			}
		}
		if names := left(t, dir); len(names) != 0 {
			t.Errorf("left behind: %v", names)
		}
		var b bytes.Buffer
		if err := s.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(lines) != len(s.Runs)+1 {
			t.Errorf("CSV: %d lines, %v", len(lines), err)
		}
		again, err := LoadSweep(o.State)
		if err != nil || !reflect.DeepEqual(again.Runs, s.Runs) {
			t.Errorf("kept is not what was found: %v", err)
		}
	}
}

// TestSweepSizes checks that strong scaling keeps the data size and that weak scaling increases it with the ranks.
func TestSweepSizes(t *testing.T) {
	for _, c := range []struct {
		axes map[string][]string
		off  float64 // tolerance, because of mesh sizes
	}{
		{map[string][]string{"ranks": {"16", "4"}}, 0},
		{map[string][]string{"ranks": {"4", "16"}, "case": {"F_h1"}}, 0.02},
		{map[string][]string{"ranks": {"4", "16"}, "case": {"G"}}, 0.02},
		{map[string][]string{"ranks": {"4", "16"}, "case": {"I_h0"}}, 0.25},
	} {
		for _, weak := range []bool{false, true} {
			o := smallSweep(t.TempDir(), c.axes)
			o.Plan.Weak = weak
			x, err := o.Plan.Table(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			few, many := x.Bytes[slices.IndexFunc(x.Points, func(p SweepPoint) bool { return p["ranks"] == "4" })], x.Bytes[slices.IndexFunc(x.Points, func(p SweepPoint) bool { return p["ranks"] == "16" })]
			want := 1.0
			if weak {
				want = 4
			}
			if got := float64(many) / float64(few); got < want*(1-c.off) || got > want*(1+c.off) {
				t.Errorf("%v, weak %v: 4 times the ranks have %.2f times the data", c.axes, weak, got)
			}
			for i, p := range x.Points { // the size for the ranks of the point equals the size in the table
				k, err := o.Plan.task(p, p.int("ranks"))
				if err != nil || k.fileBytes() != x.Bytes[i] {
					t.Errorf("%v: %d bytes, want %d, %v", p, k.fileBytes(), x.Bytes[i], err)
				}
			}
		}
	}
}

// TestSweepGoesOn interrupts a sweep in each run. The same command must continue at that run and give the same final results. A
// different plan must be rejected.
func TestSweepGoesOn(t *testing.T) {
	axes := map[string][]string{"ranks": {"2", "3"}, "layout": {"variable", "process"}, "durability": {"none"}}
	for _, cut := range []int{0, 3, 7} {
		dir := t.TempDir()
		o := smallSweep(dir, axes)
		ctx, cancel := context.WithCancel(t.Context())
		cutting := o
		cutting.fail = func(rank, run int) error {
			if run == cut {
				cancel()
			}
			return nil
		}
		s, err := RunSweep(ctx, cutting)
		if !errors.Is(err, context.Canceled) || len(s.Runs) != cut {
			t.Fatalf("cut in run %d: %d runs, %v", cut, len(s.Runs), err)
		}
		if names := left(t, dir); len(names) != 0 {
			t.Errorf("left behind: %v", names)
		}
		other := o
		other.Plan.Axes = map[string][]string{"ranks": {"2", "4"}, "layout": {"variable", "process"}, "durability": {"none"}}
		if _, err := RunSweep(t.Context(), other); err == nil || !strings.Contains(err.Error(), "ranks is 2,4, not 2,3") {
			t.Errorf("another plan: %v", err)
		}
		other = o
		other.Plan.Repeats++
		if _, err := RunSweep(t.Context(), other); err == nil || !strings.Contains(err.Error(), "repeats is 3, not 2") {
			t.Errorf("another plan: %v", err)
		}
		first, err := os.ReadFile(o.State)
		if err != nil {
			t.Fatal(err)
		}
		s, err = RunSweep(t.Context(), o)
		if err != nil || len(s.Runs) != 8 || len(s.Sessions) != 2 || s.Failed() != 0 || s.Begun != nil {
			t.Fatalf("goes on behind %d: %d runs of %d sessions, %v", cut, len(s.Runs), len(s.Sessions), err)
		}
		for i := range s.Runs {
			if want := 0; s.Runs[i].Session != want && i < cut || s.Runs[i].Run != i {
				t.Errorf("run %d: %+v", i, s.Runs[i])
			}
		}
		if n, err := RunSweep(t.Context(), o); err != nil || len(n.Runs) != 8 || n.Runs[7].Session != 1 {
			t.Errorf("again: %v", err)
		}
		other.Anew = true
		if n, err := RunSweep(t.Context(), other); err != nil || len(n.Runs) != 12 || len(n.Sessions) != 1 {
			t.Errorf("anew: %v", err)
		}
		// A killed sweep has left its directory.
		if err := os.WriteFile(o.State, first, 0o666); err != nil {
			t.Fatal(err)
		}
		old, err := LoadSweep(o.State)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(old.Work, "r1"), 0o777); err != nil {
			t.Fatal(err)
		}
		if s, err := RunSweep(t.Context(), o); err != nil || len(s.Runs) != 8 {
			t.Errorf("behind a kill: %v", err)
		}
		if names := left(t, dir); len(names) != 0 {
			t.Errorf("left behind: %v", names)
		}
	}
}

// TestSweepFailures checks that an error of one rank fails its run and that the next run follows. A run that repeatedly ends its
// session is skipped.
func TestSweepFailures(t *testing.T) {
	dir := t.TempDir()
	o := smallSweep(dir, map[string][]string{"ranks": {"4"}, "flush": {"1", "2", "3"}})
	o.fail = func(rank, run int) error {
		if run == 1 && rank == 2 {
			return errors.New("no luck")
		}
		return nil
	}
	s, err := RunSweep(t.Context(), o)
	if err != nil || len(s.Runs) != 6 || s.Failed() != 1 || !strings.Contains(s.Runs[1].Error, "no luck") || s.Runs[1].Data != 0 {
		t.Fatalf("%v, %+v", err, s)
	}
	if names := left(t, dir); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
	o.fail, o.Retry = nil, true
	if s, err = RunSweep(t.Context(), o); err != nil || len(s.Runs) != 6 || s.Failed() != 0 || s.Runs[1].Session != 1 || s.Runs[2].Session != 0 {
		t.Errorf("again: %v, %+v", err, s)
	}

	o = smallSweep(dir, map[string][]string{"ranks": {"2"}})
	o.Anew = true
	for i := range mostBegun + 1 {
		ctx, cancel := context.WithCancel(t.Context())
		o.fail = func(_, run int) error {
			if run == 1 {
				cancel()
			}
			return nil
		}
		s, err = RunSweep(ctx, o)
		cancel()
		if o.Anew = false; i < mostBegun && !errors.Is(err, context.Canceled) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if err != nil || len(s.Runs) != 2 || s.Failed() != 1 || !strings.Contains(s.Runs[1].Error, "3 times") {
		t.Errorf("%v, %+v", err, s)
	}
}

// TestSweepDamage checks that a sweep compares the data that it reads.
func TestSweepDamage(t *testing.T) {
	if _, err := exec.LookPath("dd"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	o := smallSweep(dir, map[string][]string{"ranks": {"3"}, "read": {"cold"}, "checksums": {"never"}})
	o.Plan.Drop = `f=$(ls ` + dir + `/blobio-sweep-*/r*/*.0000) && size=$(wc -c <$f) && printf '\377\377' | dd of=$f bs=1 seek=$((size-70)) conv=notrunc 2>/dev/null`
	s, err := RunSweep(t.Context(), o)
	if err != nil || s.Failed() != 2 || !strings.Contains(s.Runs[0].Error, "want ") {
		t.Errorf("%v %+v", err, s.Runs)
	}
	o.Plan.Verify, o.Anew = false, true
	if s, err := RunSweep(t.Context(), o); err != nil || s.Failed() != 0 || s.Runs[0].Verified != 0 {
		t.Errorf("%v %+v", err, s.Runs)
	}
}

// TestSweepRefused checks that invalid plans and invalid files are rejected.
func TestSweepRefused(t *testing.T) {
	for _, c := range []struct {
		words  string
		change func(o *SweepOptions)
	}{
		{"unknown axis", func(o *SweepOptions) { o.Plan.Axes = map[string][]string{"nothing": {"1"}} }},
		{"twice", func(o *SweepOptions) { o.Plan.Axes = map[string][]string{"ranks": {"1", "1"}} }},
		{"ranks \"0\"", func(o *SweepOptions) { o.Plan.Axes = map[string][]string{"ranks": {"0"}} }},
		{"subfiles", func(o *SweepOptions) { o.Plan.Axes = map[string][]string{"subfiles": {"1/rank"}} }},
		{"targets", func(o *SweepOptions) { o.Plan.Axes = map[string][]string{"subfiles": {"1/target"}} }},
		{"for 16 ranks", func(o *SweepOptions) { o.Plan.Axes = map[string][]string{"subfiles": {"17"}} }},
		{"positive", func(o *SweepOptions) { o.Plan.Repeats = 0 }},
		{"not a directory", func(o *SweepOptions) { o.Plan.Dir = o.State + ".file" }},
		{"sweep.json", func(o *SweepOptions) { _ = os.WriteFile(o.State, []byte("{}"), 0o666) }},
		{"sweep.json", func(o *SweepOptions) { _ = os.WriteFile(o.State, []byte(`{"version":1,"all":1,"runs":[{}]}`), 0o666) }},
	} {
		dir := t.TempDir()
		o := smallSweep(dir, nil)
		if err := os.WriteFile(o.State+".file", nil, 0o666); err != nil {
			t.Fatal(err)
		}
		c.change(&o)
		if s, err := RunSweep(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%v, want %q in it; %+v", err, c.words, s)
		}
	}
	// A forged file cannot cause removal of files outside of the directory.
	dir, mine := t.TempDir(), t.TempDir()
	o := smallSweep(dir, nil)
	if _, err := RunSweep(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s, err := LoadSweep(o.State)
	if err != nil {
		t.Fatal(err)
	}
	s.Work = mine
	if err := s.save(o.State, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := RunSweep(t.Context(), o); err == nil || !strings.Contains(err.Error(), "is not a sweep directory") {
		t.Errorf("%v", err)
	}
	o.Anew = true
	if _, err := RunSweep(t.Context(), o); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	// Sizes that are too large and memory that is too small are errors of the runs.
	o = smallSweep(t.TempDir(), map[string][]string{"ranks": {"2"}})
	o.Plan.Memory = 100
	if s, err := RunSweep(t.Context(), o); err != nil || s.Failed() != 2 || !strings.Contains(s.Runs[0].Error, "memory limit is 100") {
		t.Errorf("%v %+v", err, s)
	}
	o = smallSweep(t.TempDir(), map[string][]string{"ranks": {"2"}})
	o.Plan.Space = 100
	if s, err := RunSweep(t.Context(), o); err != nil || s.Failed() != 2 || !strings.Contains(s.Runs[0].Error, "space limit is 100") {
		t.Errorf("%v %+v", err, s)
	}
	if _, err := o.Plan.Table(t.Context()); err == nil || !strings.Contains(err.Error(), "space limit is 100") {
		t.Errorf("%v", err)
	}
}

// TestSweepHeld starts two sweeps with the same results file: the second one is rejected.
func TestSweepHeld(t *testing.T) {
	o := smallSweep(t.TempDir(), map[string][]string{"ranks": {"1"}})
	ran := false
	o.fail = func(int, int) error {
		ran = true
		other := o
		other.fail = nil
		_, err := RunSweep(t.Context(), other)
		if !errors.As(err, new(*durable.InUseError)) {
			t.Errorf("%v", err)
		}
		return nil
	}
	if s, err := RunSweep(t.Context(), o); err != nil || s.Failed() != 0 || !ran {
		t.Errorf("%v", err)
	}
}

// TestSweepOnLustre checks that directories are striped and targets counted.
func TestSweepOnLustre(t *testing.T) {
	var asked []string
	fs := lustre{here: true, run: func(_ context.Context, args ...string) (string, error) {
		asked = append(asked, strings.Join(args, " "))
		if args[0] == "osts" {
			return "OBDS:\n0: scratch-OST0000_UUID ACTIVE\n1: scratch-OST0001_UUID ACTIVE\n2: scratch-OST0002_UUID INACTIVE\n", nil
		}
		return "", nil
	}}
	o := smallSweep(t.TempDir(), map[string][]string{"ranks": {"4"}, "subfiles": {"1/target"}, "stripe-size": {"65536", "131072"}, "stripe-count": {"2"}})
	o.Plan.Stripe, o.Plan.Repeats, o.lustre = true, 1, &fs
	s, err := RunSweep(t.Context(), o)
	if err != nil || s.Failed() != 0 {
		t.Fatal(err, s)
	}
	if x := s.Sessions[0]; x.Targets != 2 || s.Runs[0].Files != 2 {
		t.Errorf("%+v %+v", x, s.Runs[0])
	}
	for _, size := range []string{"65536", "131072"} {
		if !slices.ContainsFunc(asked, func(l string) bool { return strings.HasPrefix(l, "setstripe -S "+size+" -c 2 "+s.Work) }) {
			t.Errorf("no setstripe of %s in %v", size, asked)
		}
	}
}
