package bench

import (
	"context"
	"crypto/md5"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/zeebo/xxh3"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/ffstore"
)

// FFOptions of FFRates. The zero value of a field means its default.
type FFOptions struct {
	Dir  string // where the files go; required
	Size int64  // protected bytes of the one rank, default 1 GiB
	Vars int    // variables, default 4
	Runs int    // of each row, default 5
	Sync bool   // commits wait for the device (ffstore.DurableCommit); else nothing is synced
	Log  func(string)
}

// FFRow is one job on a store of FTI-FF checkpoints, and the bound that it is held
// against, measured in the same run.
type FFRow struct {
	Job     string    `json:"job"`
	Seconds []float64 `json:"seconds"`
	Bound   float64   `json:"bound_seconds"` // the least time that the bound allows
	What    string    `json:"bound"`
	Mark    float64   `json:"mark"`    // the ratio that is asked for; 0: none
	Written int64     `json:"written"` // bytes, of the last run
}

// Ratio is the bound over the median time: 1 is the bound, more is faster.
func (r *FFRow) Ratio() float64 { return r.Bound / median(r.Seconds) }

// FFReport is what FFRates found.
type FFReport struct {
	Size       int64   `json:"size"` // protected bytes
	Vars       int     `json:"vars"`
	Cores      int     `json:"cores"`
	Sync       bool    `json:"sync"`
	Raw        float64 `json:"raw_write_seconds"` // of as many bytes into a fresh file, the best way
	RawRead    float64 `json:"raw_read_seconds"`  // of as many bytes, into a buffer that stays in the cache
	RawInto    float64 `json:"raw_into_seconds"`  // of as many bytes, into as much memory
	MD5        float64 `json:"md5_seconds"`       // of as many bytes, one MD5 on each core
	XXH3       float64 `json:"xxh3_seconds"`      // of as many bytes in blocks, on all cores
	Copy       float64 `json:"copy_seconds"`      // of as many bytes in memory, on one core
	DigestPart float64 `json:"digests_part"`      // bytes of the digests of one slot over the protected size
	SideBytes  int64   `json:"side_bytes"`        // appended to the side file by one full checkpoint
	Files      int     `json:"files_per_rank"`    // of a checkpoint, beside one side file per node and one record
	BreakEven  string  `json:"break_even_fast"`   // changed share from which a full checkpoint is as fast
	BreakMD5   string  `json:"break_even_md5"`    // of files that FTI can read
	Rows       []FFRow `json:"rows"`
}

// FFRates measures full and differential checkpoints of one rank, and recovery, beside what the
// same bytes cost without: the raw write, the hashes, the raw read. Data are random, in memory. In the
// differential rows the same blocks, evenly spread, change before every checkpoint; the
// rows "others" change other blocks each time, of which a slot gets those of two checkpoints.
func FFRates(ctx context.Context, o FFOptions) (*FFReport, error) {
	if o.Size == 0 {
		o.Size = 1 << 30
	}
	if o.Vars == 0 {
		o.Vars = 4
	}
	if o.Runs == 0 {
		o.Runs = 5
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	b := &ffRates{o: o, rep: &FFReport{Size: o.Size, Vars: o.Vars, Cores: runtime.GOMAXPROCS(0), Sync: o.Sync, Files: 1}}
	rng := rand.NewChaCha8([32]byte{3})
	for range o.Vars {
		v := make([]byte, o.Size/int64(o.Vars))
		rng.Read(v)
		b.vars = append(b.vars, v)
	}
	if err := b.ceilings(); err != nil {
		return nil, err
	}
	for _, h := range []ffformat.Hash{ffformat.Fast, ffformat.MD5} {
		if err := b.hash(ctx, h); err != nil {
			return nil, err
		}
	}
	return b.rep, nil
}

type ffRates struct {
	o    FFOptions
	rep  *FFReport
	vars [][]byte
	turn int
}

func seconds(f func() error) (float64, error) {
	runtime.GC()
	t := time.Now()
	err := f()
	return time.Since(t).Seconds(), err
}

// each calls f for every variable, on all cores.
func (b *ffRates) each(f func(v []byte)) {
	var wg sync.WaitGroup
	gate := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, v := range b.vars {
		wg.Go(func() {
			gate <- struct{}{}
			f(v)
			<-gate
		})
	}
	wg.Wait()
}

// ceilings measures what nobody can be faster than.
func (b *ffRates) ceilings() error {
	b.o.Log("ceilings")
	var raw, md, xx, cp []float64
	dst := make([]byte, 1<<20)
	for range b.o.Runs {
		best := math.Inf(1)
		for _, writers := range []int{1, runtime.GOMAXPROCS(0)} {
			ceiling := WriteCeiling
			if b.o.Sync {
				ceiling = SyncCeiling
			}
			d, err := ceiling(b.o.Dir, b.o.Size, writers)
			if err != nil {
				return err
			}
			best = min(best, d.Seconds())
		}
		raw = append(raw, best)
		t, _ := seconds(func() error { b.each(func(v []byte) { md5.Sum(v) }); return nil })
		md = append(md, t)
		t, _ = seconds(func() error {
			b.each(func(v []byte) {
				for p := v; len(p) > 0; p = p[min(len(p), ffformat.DefaultBlockSize):] {
					xxh3.Hash128(p[:min(len(p), ffformat.DefaultBlockSize)])
				}
			})
			return nil
		})
		xx = append(xx, t)
		t, _ = seconds(func() error {
			for _, v := range b.vars {
				for p := v; len(p) > 0; p = p[copy(dst, p):] {
				}
			}
			return nil
		})
		cp = append(cp, t)
	}
	b.rep.Raw, b.rep.MD5, b.rep.XXH3, b.rep.Copy = median(raw), median(md), median(xx), median(cp)
	return nil
}

func (b *ffRates) open(ctx context.Context, h ffformat.Hash, fresh bool) (*ffstore.Store, error) {
	dir := filepath.Join(b.o.Dir, "ffrates")
	if fresh {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	d := ffstore.DurableNone
	if b.o.Sync {
		d = ffstore.DurableCommit
	}
	s, err := ffstore.Open(ctx, comm.Self(), dir, &ffstore.Options{Hash: h, Durability: d})
	if err != nil {
		return nil, err
	}
	for i, v := range b.vars {
		if err := s.Protect(int32(i), v); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// change changes a share of the blocks, in percent, evenly spread; the same ones for the
// same turn.
func (b *ffRates) change(percent, turn int) {
	for _, v := range b.vars {
		for k := 0; k*ffformat.DefaultBlockSize+100 < len(v); k++ {
			if (k*37+turn*percent)%100 < percent { // 37 and 100 have no common divisor
				v[k*ffformat.DefaultBlockSize+99]++
			}
		}
	}
}

func (b *ffRates) hash(ctx context.Context, h ffformat.Hash) error {
	defer os.RemoveAll(filepath.Join(b.o.Dir, "ffrates"))
	name, mark, bound, what := "Fast", 0.80, b.rep.Raw, "raw write"
	if h == ffformat.MD5 {
		name, bound, what = "FTI's", math.Max(b.rep.Raw, b.rep.MD5), "smaller of raw write and MD5 on all cores"
	}
	fresh := FFRow{Job: name + " full, new files", Bound: bound, What: what, Mark: mark}
	full := FFRow{Job: name + " full, into a slot", Bound: bound, What: what, Mark: mark}
	for run := range b.o.Runs + 1 { // the first warms up: memory that was never used is slow to get
		s, err := b.open(ctx, h, true)
		if err != nil {
			return err
		}
		for id := int32(1); id <= 4; id++ {
			b.change(100, 0)
			b.o.Log(fmt.Sprintf("%s full %d", name, id))
			var st ffstore.Stats
			t, err := seconds(func() (err error) { st, err = s.Checkpoint(ctx, id); return err })
			if err != nil {
				return err
			}
			row := &fresh
			if id > 2 {
				row = &full
			}
			if run > 0 {
				row.Seconds = append(row.Seconds, t)
			}
			row.Written = st.Written
			b.rep.SideBytes = st.SideData
			b.rep.DigestPart = float64(st.SideData) / float64(b.o.Size)
		}
		if err := s.Close(ctx); err != nil {
			return err
		}
	}
	b.rep.Rows = append(b.rep.Rows, fresh, full)
	if err := b.diffs(ctx, h, name, median(full.Seconds)); err != nil {
		return err
	}
	return b.recover(ctx, h, name)
}

// diffs measures differential checkpoints on a store whose slots are full.
func (b *ffRates) diffs(ctx context.Context, h ffformat.Hash, name string, full float64) error {
	s, err := b.open(ctx, h, false)
	if err != nil {
		return err
	}
	id := int32(10)
	shares := []int{0, 1, 10, 50, 100}
	var times []float64
	for _, others := range []bool{false, true} {
		for _, share := range shares {
			if others && (share == 0 || share == 100) {
				continue
			}
			part := float64(share) / 100
			if others {
				part = 2 * part // of two checkpoints, which never are the same blocks up to 50 %
			}
			row := FFRow{Job: fmt.Sprintf("%s differential, %d %%", name, share), Mark: 1}
			if others {
				row.Job, row.Mark = row.Job+" others", 0
			}
			row.Bound, row.What = b.rep.XXH3+part*full+0.05*full, "hashing + share of full + 5 %"
			if h == ffformat.MD5 && share > 0 {
				row.Bound, row.What = row.Bound+b.rep.MD5, row.What+" + MD5"
			}
			if row.Bound > 1.10*full {
				row.Bound, row.What = 1.10*full, "1.10 of full"
			}
			for run := range b.o.Runs + 3 { // three to bring both slots to this state
				b.turn++
				turn := 0
				if others {
					turn = b.turn
				}
				b.change(share, turn)
				b.o.Log(row.Job)
				var st ffstore.Stats
				t, err := seconds(func() (err error) { st, err = s.CheckpointDiff(ctx, id); return err })
				if err != nil {
					return err
				}
				id++
				if run >= 3 {
					row.Seconds = append(row.Seconds, t)
					row.Written = st.Written
				}
			}
			b.rep.Rows = append(b.rep.Rows, row)
			if !others {
				times = append(times, median(row.Seconds))
			}
		}
	}
	at := breakEven(shares, times, full)
	if h == ffformat.MD5 {
		b.rep.BreakMD5 = at
	} else {
		b.rep.BreakEven = at
	}
	return s.Close(ctx)
}

// breakEven is the share from which on a full checkpoint is as fast, between the
// measured ones by a straight line.
func breakEven(shares []int, times []float64, full float64) string {
	for i := 1; i < len(shares); i++ {
		if times[i] >= full {
			x := float64(shares[i-1]) + (full-times[i-1])/(times[i]-times[i-1])*float64(shares[i]-shares[i-1])
			return fmt.Sprintf("%.0f %%", max(x, 0))
		}
	}
	return "none up to 100 %"
}

// recover measures reading everything back, verified: with the digests of the side file, and
// without.
func (b *ffRates) recover(ctx context.Context, h ffformat.Hash, name string) error {
	for _, side := range []bool{true, false} {
		if !side && h == ffformat.Fast {
			continue
		}
		row := FFRow{Job: name + " recover and verify", Mark: 0.70, What: "raw read into as much memory"}
		if !side {
			row.Job, row.Mark = row.Job+", no side file", 0
			logs, err := filepath.Glob(filepath.Join(b.o.Dir, "ffrates", "*.digests"))
			if err != nil {
				return err
			}
			for _, l := range logs {
				if err := os.Remove(l); err != nil {
					return err
				}
			}
		}
		var raws, into []float64
		for range b.o.Runs {
			s, err := b.open(ctx, h, false)
			if err != nil {
				return err
			}
			t, err := seconds(func() error {
				_, skipped, err := s.Recover(ctx)
				if len(skipped) > 0 {
					return skipped[0]
				}
				return err
			})
			if err != nil {
				return err
			}
			row.Seconds = append(row.Seconds, t)
			l := s.List()
			file := ffstore.FileName(filepath.Join(b.o.Dir, "ffrates"), l[len(l)-1].Slot, 0)
			d, err := ReadCeiling(file, runtime.GOMAXPROCS(0))
			if err != nil {
				return err
			}
			raws = append(raws, d.Seconds())
			if d, err = ReadIntoCeiling(file, runtime.GOMAXPROCS(0), b.vars); err != nil {
				return err
			}
			into = append(into, d.Seconds())
			if err := s.Close(ctx); err != nil {
				return err
			}
		}
		b.rep.RawRead, b.rep.RawInto = median(raws), median(into)
		row.Bound = b.rep.RawInto
		b.rep.Rows = append(b.rep.Rows, row)
	}
	return nil
}

// Print writes the report as Markdown.
func (r *FFReport) Print(w io.Writer) error {
	mib := float64(r.Size) / (1 << 20)
	fmt.Fprintf(w, "%.0f MiB in %d variables, %d cores, synced: %v. In the same run, MiB/s: raw write %.0f, raw read into a buffer in the cache %.0f, into as much memory %.0f, MD5 on all cores %.0f, XXH3 of blocks %.0f, copy on one core %.0f.\n\n",
		mib, r.Vars, r.Cores, r.Sync, mib/r.Raw, mib/r.RawRead, mib/r.RawInto, mib/r.MD5, mib/r.XXH3, mib/r.Copy)
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| job\t| ms, median (min to max)\t| MiB/s of protected size\t| MiB written\t| bound\t| ms\t| ratio\t| mark\t|")
	fmt.Fprintln(t, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for i := range r.Rows {
		x := &r.Rows[i]
		mark := "-"
		if x.Mark > 0 {
			mark = fmt.Sprintf("%.2f", x.Mark)
		}
		fmt.Fprintf(t, "| %s\t| %.0f (%.0f to %.0f)\t| %.0f\t| %.1f\t| %s\t| %.0f\t| %.2f\t| %s\t|\n", x.Job,
			median(x.Seconds)*1e3, slices.Min(x.Seconds)*1e3, slices.Max(x.Seconds)*1e3, mib/median(x.Seconds), float64(x.Written)/(1<<20), x.What, x.Bound*1e3, x.Ratio(), mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nA full checkpoint is as fast as a differential one from a changed share of: Fast %s, FTI's %s. Digests of a slot: %.2f %% of the protected size. Files per checkpoint: %d per rank, and one side file per node and one record for all checkpoints.\n",
		r.BreakEven, r.BreakMD5, 100*r.DigestPart, r.Files)
	return err
}
