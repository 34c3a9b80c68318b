package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"blobio/blob"
)

// ProductionOptions say how large the F case of Production is. The zero value of a field
// means its default, which is the size of production runs of the model.
type ProductionOptions struct {
	Dir      string        // where the datasets go, in a directory of their own; required
	Ne       int           // elements along a side of a cube face, default 120: 777,602 columns
	Levels   int           // default 72
	Ranks    int           // default 21,600
	Subfiles []int         // one dataset for each number and layout; default 338 (64 ranks each), 1
	Layouts  []blob.Layout // default both
	Memory   int64         // cap of a process's resident memory in bytes, default 8 GiB. It is watched, not enforced: beyond it is an error
	Buffer   int64         // bytes of the ranks' data that are there at a time, default 1 GiB
	Convert  int           // variables that are converted, default 10
	Keep     bool          // leave the datasets
	Self     []string      // command of a worker, as in Options; without it everything is done in this process
	Log      func(string)
	At       func(stage string, done, total int64)
}

const productionName = "production"

func (o *ProductionOptions) defaults() error {
	or := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	or(&o.Ne, 120)
	or(&o.Levels, 72)
	or(&o.Ranks, 21600)
	or(&o.Convert, 10)
	if o.Memory == 0 {
		o.Memory = 8 << 30
	}
	if o.Buffer == 0 {
		o.Buffer = 1 << 30
	}
	if len(o.Subfiles) == 0 {
		o.Subfiles = []int{338, 1}
	}
	if len(o.Layouts) == 0 {
		o.Layouts = layouts
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.At == nil {
		o.At = func(string, int64, int64) {}
	}
	if o.Ne < 1 || o.Levels < 1 || o.Ranks < 1 || o.Convert < 1 || o.Memory < 1 || o.Buffer < 1 {
		return pkg.Errorf("production: a size below 1: %w", blob.ErrUsage)
	}
	for _, n := range o.Subfiles {
		if n < 1 || n > o.Ranks {
			return pkg.Errorf("production: %d subfiles, want 1 to %d, the number of ranks: %w", n, o.Ranks, blob.ErrUsage)
		}
	}
	return nil
}

// bytes is what a dataset takes, about: 386 float variables, and at most 8 bytes for each element of D3.
func (o *ProductionOptions) bytes() int64 {
	ncol := 54*int64(o.Ne)*int64(o.Ne) + 2
	return ncol*4*(63*int64(o.Levels)+321) + ncol*8*(int64(o.Levels)+2)*5/4 + 1<<20
}

// Production writes the F case (h0, float, one record) as large as in production, in each layout
// and with each number of subfiles, and then opens, lists and checks it, reads levels and converts variables. Maps are
// generated; the data, which are unlike at every place, are made a part at a time, put, and flushed. Each
// phase is done by a process of its own if Self is set, whose peak of resident memory is in the row, and reads nothing that is
// in the page cache, where the system lets it go. Everything is synced. Beside it stand plain writes of as many bytes, and plain
// reads of the files. The results up to an error are returned, too.
func Production(ctx context.Context, o ProductionOptions) (res *Results, err error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	need := 2*o.bytes() + o.bytes()/8
	if o.Keep {
		need = int64(len(o.Layouts)*len(o.Subfiles)+1) * o.bytes()
	}
	if fs, free := fileSystem(o.Dir); free > 0 && free < need {
		return nil, pkg.Errorf("production: %s has %d MiB left, %d are needed", fs, free>>20, need>>20+1)
	}
	dir, err := os.MkdirTemp(o.Dir, "blobio-production-")
	if err != nil {
		return nil, err
	}
	if !o.Keep {
		defer func() {
			if rerr := os.RemoveAll(dir); err == nil {
				err = rerr
			}
		}()
	}
	p := &producer{ProductionOptions: o, s: &session{Options: Options{Dir: o.Dir, Runs: 1, Self: o.Self, Log: o.Log}, dir: dir, name: productionName}}
	p.s.res = newResults(&p.s.Options)
	p.s.res.Workloads = []string{productionName}
	for _, n := range o.Subfiles {
		for _, l := range o.Layouts {
			if err := p.dataset(ctx, l, n); err != nil {
				return p.s.res, pkg.Errorf("production: %v, %s: %w", l, subfilesText(n), err)
			}
		}
	}
	p.s.res.Host.LoadEnd = loadAverage()
	return p.s.res, nil
}

// producer is one call of Production.
type producer struct {
	ProductionOptions
	s    *session
	stem string // of what is being done, for progress
}

// dataset does everything with one dataset.
func (p *producer) dataset(ctx context.Context, l blob.Layout, subfiles int) error {
	base := p.s.path(fmt.Sprintf("F_h0.%d.%s", subfiles, map[blob.Layout]string{blob.VariableCentric: "nc", blob.ProcessCentric: "h5"}[l]))
	data := fmt.Sprintf("F h0 ne%d, %d levels, %s", p.Ne, p.Levels, subfilesText(subfiles))
	p.stem = fmt.Sprintf("%v, %s", l, subfilesText(subfiles))
	job := Job{Case: "F_h0", Ranks: p.Ranks, Float: true, FileMem: true, Sync: true, Subfiles: subfiles, Maps: MapSource{Ne: p.Ne, Levels: p.Levels}}
	work := Work{Op: productionName, Job: job, Layout: l.String(), Path: base, To: base + ".canonical", Memory: p.Memory, Buffer: p.Buffer, Convert: p.Convert}
	row := func(what string, t Took) *Row {
		r := &Row{Data: data, What: what, Who: l.String(), Ranks: p.Ranks, As: "goroutines"}
		r.add(t)
		if t.Memory > p.Memory {
			r.Note = fmt.Sprintf("over the cap of %d MiB", p.Memory>>20)
		}
		return r
	}
	t, err := p.phase(ctx, work, "write")
	if err != nil {
		return err
	}
	write := row("write", t)
	write.Sync = true
	write.Note = strings.TrimPrefix(write.Note+"; "+t.Note, "; ")
	rows := []*Row{write}
	kept := false
	defer func() {
		if !kept { // cut short: what was done, without the plain writes
			for _, r := range rows {
				p.s.keep(r)
			}
		}
	}()
	files, err := beginning(base + ".")
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".manifest") })
	read, err := p.readRate(ctx, files)
	if err != nil {
		return err
	}
	for _, ph := range []struct{ name, what string }{
		{"open", "open"}, {"list", "open and list"}, {"check", "check"}, {"level", "read a level of T, and the map"},
		{"convert", fmt.Sprintf("convert %d variables", p.Convert)},
	} {
		for _, f := range files {
			if err := forgetFile(f); err != nil {
				return err
			}
		}
		if t, err = p.phase(ctx, work, ph.name); err != nil {
			return err
		}
		r := row(ph.what, t)
		r.Phases = nil
		if t.Bytes > 0 {
			r.bound("raw read", read.Bytes, read.Seconds[0])
		}
		rows = append(rows, r)
		if ph.name == "level" {
			next := *r
			next.What, next.Seconds, next.CPU, next.Bytes = "read another level of T", []float64{t.Phases["next"]}, nil, t.Data
			next.Bounds = []Bound{read}
			next.Lent, r.Lent = 0, 0
			rows = append(rows, &next)
		}
		if ph.name == "convert" {
			r.Sync, r.Bounds = true, nil
		}
	}
	if !p.Keep {
		for _, name := range []string{base, work.To} {
			if err := removeDataset(name); err != nil {
				return err
			}
		}
	} else {
		p.Log("kept: " + base)
	}
	// As many bytes by plain writes, when the space is free again.
	raw, err := p.writeRate(ctx, write.Bytes)
	if err != nil {
		return err
	}
	kept = true
	for _, r := range rows {
		if r.Sync {
			r.Bounds = []Bound{raw}
		}
		p.s.keep(r)
	}
	for _, r := range rows {
		if len(r.Memory) > 0 && r.Memory[0] > p.Memory {
			return fmt.Errorf("%s: %d MiB resident, over the cap of %d", r.What, r.Memory[0]>>20, p.Memory>>20)
		}
	}
	return nil
}

// phase does one phase, in a process of its own if there is a command for it.
func (p *producer) phase(ctx context.Context, w Work, name string) (t Took, err error) {
	stage := p.stem + ": " + name
	p.At(stage, 0, 1)
	w.Phase = name
	start := time.Now()
	if len(p.Self) == 0 {
		w.At = func(done, total int64) { p.At(stage, done, total) }
		t, err = w.Do(ctx, Goroutines(w.Job.Ranks))
	} else {
		t, err = p.child(ctx, w, stage)
	}
	if err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	p.Log(fmt.Sprintf("%s: %s on the clock, %s in all, at most %d MiB resident", stage, Seconds(t.Seconds), Seconds(time.Since(start).Seconds()), t.Memory>>20))
	return t, nil
}

// child is a process that tells its progress on standard error, one line for each step: "@done total".
func (p *producer) child(ctx context.Context, w Work, stage string) (t Took, err error) {
	spec := p.s.path("work.json")
	b, err := json.Marshal(w)
	if err != nil {
		return t, err
	}
	if err := os.WriteFile(spec, b, 0o666); err != nil {
		return t, err
	}
	cmd := exec.CommandContext(ctx, p.Self[0], append(p.Self[1:len(p.Self):len(p.Self)], spec)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	errs, err := cmd.StderrPipe()
	if err != nil {
		return t, err
	}
	if err := cmd.Start(); err != nil {
		return t, err
	}
	last := ""
	for s := bufio.NewScanner(errs); s.Scan(); {
		var done, total int64
		if n, _ := fmt.Sscanf(s.Text(), "@%d %d", &done, &total); n == 2 {
			p.At(stage, done, total)
		} else if strings.TrimSpace(s.Text()) != "" && last == "" {
			last = s.Text()
		}
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return t, ctx.Err()
		}
		return t, fmt.Errorf("%w: %s", err, last)
	}
	return decodeTook(out.Bytes())
}

// readRate reads the files one after the other, past the page cache where it can be emptied.
func (p *producer) readRate(ctx context.Context, files []string) (Bound, error) {
	b := Bound{What: "raw read"}
	start := time.Now()
	for i, f := range files {
		p.At(p.stem+": raw read", int64(i), int64(len(files)))
		if err := errors.Join(ctx.Err(), forgetFile(f)); err != nil {
			return b, err
		}
		n, err := plainRead(f, 4<<20, writers())
		if err != nil {
			return b, err
		}
		b.Bytes += n
	}
	b.Seconds = []float64{time.Since(start).Seconds()}
	return b, nil
}

// writeRate writes one file of that many bytes and syncs it, in the way that was best with a part of them.
func (p *producer) writeRate(ctx context.Context, size int64) (Bound, error) {
	b := Bound{What: "raw write", Bytes: size}
	p.At(p.stem+": raw write", 0, 1)
	name := p.s.path(".ceiling")
	least, way := time.Duration(-1), rawWay{}
	for _, block := range ceilingBlocks {
		for _, reserve := range []bool{false, true} {
			if err := ctx.Err(); err != nil {
				return b, err
			}
			d, err := rawWrite(name, max(size/64, 1), block, writers(), reserve, true)
			if err != nil {
				return b, err
			}
			if least < 0 || d < least {
				least, way = d, rawWay{block, reserve}
			}
		}
	}
	d, err := rawWrite(name, size, way.block, writers(), way.reserve, true)
	b.Seconds = []float64{d.Seconds()}
	return b, err
}

func subfilesText(n int) string {
	if n == 1 {
		return "1 subfile"
	}
	return fmt.Sprintf("%d subfiles", n)
}
