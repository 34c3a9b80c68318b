package bench

import (
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"blobio/comm"
	"blobio/internal/vfs"
	"blobio/redset"
)

// SCROptions of SCRRates. The zero value of a field means its default.
type SCROptions struct {
	Dir   string // where the files go; required
	Size  int64  // bytes of the file of each rank, default 256 MiB
	Ranks int    // default 4
	Runs  int    // of each row, default 5; one before them does not count
	Sync  bool   // the ranks sync what they write, in all jobs (for disks); redundancy files are synced always
	Log   func(string)
}

// scrSchemes are the schemes with their marks, in memory and synced.
var scrSchemes = []struct {
	o     redset.Options
	name  string
	marks [2]float64
}{
	{redset.Options{Scheme: redset.XOR}, "XOR", [2]float64{1.7, 1.5}},
	{redset.Options{Scheme: redset.Partner}, "PARTNER", [2]float64{2.4, 2.3}},
	{redset.Options{Scheme: redset.RS, K: 2}, "RS k=2", [2]float64{2.5, 2.3}},
}

// SCRRates measures the protection of files by redset: ranks in one process, one set. Each rank has data of
// its own in memory and writes them in blocks of 1 MiB.
func SCRRates(ctx context.Context, o SCROptions) (*SCRReport, error) {
	if o.Size == 0 {
		o.Size = 256 << 20
	}
	if o.Ranks == 0 {
		o.Ranks = 4
	}
	if o.Runs == 0 {
		o.Runs = 5
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	dir, err := os.MkdirTemp(o.Dir, "scrrates")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b := &scrRates{o: o, dir: dir, rep: &SCRReport{Size: o.Size, Ranks: o.Ranks, Cores: runtime.GOMAXPROCS(0), Sync: o.Sync}}
	rng := rand.NewChaCha8([32]byte{4})
	for r := range o.Ranks {
		v := make([]byte, o.Size)
		rng.Read(v)
		b.data = append(b.data, v)
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprint(r)), 0o777); err != nil {
			return nil, err
		}
	}
	if err := b.ceilings(); err != nil {
		return nil, err
	}
	for _, s := range scrSchemes {
		row := SCRRow{Scheme: s.name, Mark: s.marks[0], Real: realRedset[s.o.Scheme][0], RealReb: realRedset[s.o.Scheme][1], Processors: map[string][]float64{}}
		if o.Sync {
			row.Mark = s.marks[1]
		}
		warm := min(1, o.Runs-1) // memory that was never used is slow to get
		for run := range o.Runs + warm {
			o.Log(fmt.Sprintf("%s %d", s.name, run))
			if err := b.turn(ctx, s.o, &row); err != nil {
				return nil, err
			}
			if run < warm {
				row = SCRRow{Scheme: row.Scheme, Mark: row.Mark, Real: row.Real, RealReb: row.RealReb, Processors: map[string][]float64{}}
			}
		}
		b.rep.Rows = append(b.rep.Rows, row)
	}
	return b.rep, nil
}

type scrRates struct {
	o    SCROptions
	rep  *SCRReport
	dir  string
	data [][]byte // by rank
	sum  atomic.Int64
}

func (b *scrRates) file(r int) string   { return filepath.Join(b.dir, fmt.Sprint(r), "data") }
func (b *scrRates) prefix(r int) string { return filepath.Join(b.dir, fmt.Sprint(r), "rs.") }
func (b *scrRates) extra(r int) string  { return filepath.Join(b.dir, fmt.Sprint(r), "floor") }

// ceilings measures what the storage and the memory give.
func (b *scrRates) ceilings() error {
	var raw, read, mem []float64
	total := b.o.Size * int64(b.o.Ranks)
	for range b.o.Runs {
		ceiling := WriteCeiling
		if b.o.Sync {
			ceiling = SyncCeiling
		}
		d, err := ceiling(b.dir, total, b.rep.Cores)
		if err != nil {
			return err
		}
		raw = append(raw, d.Seconds())
		_ = os.Remove(b.file(0))
		if err := b.write(0); err != nil {
			return err
		}
		if d, err = ReadCeiling(b.file(0), b.rep.Cores); err != nil {
			return err
		}
		read = append(read, d.Seconds()*float64(b.o.Ranks))
		t, _ := seconds(func() error {
			var wg sync.WaitGroup
			for r := range b.rep.Cores {
				wg.Go(func() { copy(b.data[r%b.o.Ranks], b.data[(r+1)%b.o.Ranks]) })
			}
			wg.Wait()
			return nil
		})
		mem = append(mem, float64(b.o.Size)*float64(b.rep.Cores)/t)
	}
	b.rep.Raw, b.rep.Read, b.rep.Memory = median(raw), median(read), median(mem)
	return nil
}

// write writes the file of a rank anew, as a solver does.
func (b *scrRates) write(r int) error {
	f, err := vfs.OS.Create(b.file(r))
	if err != nil {
		return err
	}
	const block = 1 << 20
	for off := int64(0); off < b.o.Size && err == nil; off += block {
		_, err = f.WriteAt(b.data[r][off:min(off+block, b.o.Size)], off)
	}
	if err == nil && b.o.Sync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// clear removes everything.
func (b *scrRates) clear(ctx context.Context, c comm.Comm) error {
	names, err := filepath.Glob(filepath.Join(b.dir, fmt.Sprint(c.Rank()), "*"))
	for _, name := range names {
		if err == nil {
			err = os.Remove(name)
		}
	}
	if err == nil && c.Rank() == 0 {
		runtime.GC()
	}
	if err == nil {
		err = c.Barrier(ctx)
	}
	return err
}

// turn is one run of all jobs.
func (b *scrRates) turn(ctx context.Context, o redset.Options, row *SCRRow) error {
	return comm.Run(ctx, b.o.Ranks, &comm.Options{DeadlockAfter: -1}, func(ctx context.Context, c comm.Comm) error {
		s, err := redset.New(ctx, c, o)
		if err != nil {
			return err
		}
		apart, err := redset.New(ctx, comm.Isolate(c), o)
		if err != nil {
			return err
		}
		r := c.Rank()
		var first, second time.Duration
		var used [2]float64 // processor time of either
		// timed writes the data and runs f.
		timed := func(f func() error) error {
			if err := b.clear(ctx, c); err != nil {
				return err
			}
			start, cpu := time.Now(), cpuTime()
			if err := b.write(r); err != nil {
				return err
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			first = time.Since(start)
			used[0], cpu = cpuTime()-cpu, cpuTime()
			if err := f(); err != nil {
				return err
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			second = time.Since(start) - first
			used[1] = cpuTime() - cpu
			return nil
		}
		note := func(to *[]float64, d time.Duration) {
			if r == 0 {
				*to = append(*to, d.Seconds())
			}
		}
		spent := func(job string, cpu float64) {
			if r == 0 {
				row.Processors[job] = append(row.Processors[job], cpu)
			}
		}

		if b.o.Sync { // what an earlier turn left to the device is not to be paid by the first job of this one
			if err := timed(func() error { return nil }); err != nil {
				return err
			}
		}
		if err := timed(func() error { return nil }); err != nil {
			return err
		}
		note(&row.Alone, first)
		spent("write", used[0])
		parity := b.parity(o)
		if err := timed(func() error { return b.floor(ctx, c, parity) }); err != nil {
			return err
		}
		note(&row.Floor, second)
		spent("least encode", used[1])
		if err := timed(func() error { return apart.Encode(ctx, vfs.OS, []string{b.file(r)}, b.prefix(r)) }); err != nil {
			return err
		}
		note(&row.Message, second)
		if err := timed(func() error { return s.Encode(ctx, vfs.OS, []string{b.file(r)}, b.prefix(r)) }); err != nil {
			return err
		}
		note(&row.Both, first+second)
		note(&row.Encode, second)
		spent("encode", used[1])
		return b.rebuild(ctx, c, row, parity, note, spent)
	})
}

// parity is the size of the payload of a member.
func (b *scrRates) parity(o redset.Options) int64 {
	n := int64(b.o.Ranks)
	switch o.Scheme {
	case redset.XOR:
		return (b.o.Size + n - 2) / (n - 1)
	case redset.RS:
		k := int64(o.K)
		return (b.o.Size + n - k - 1) / (n - k) * k
	}
	return b.o.Size
}

// floor is what stands in for the encode: the least program, for all ranks, with as many goroutines as cores.
func (b *scrRates) floor(ctx context.Context, c comm.Comm, parity int64) error {
	if r := c.Rank(); r < b.rep.Cores {
		n := b.o.Ranks
		for i := r; i < n; i += b.rep.Cores {
			if err := b.stream(b.file(i), b.o.Size, b.extra(i), parity); err != nil {
				return err
			}
		}
	}
	return c.Barrier(ctx)
}

// stream is the least program that looks at all bytes of a file once, with their CRC-32, and writes out bytes to a fresh one, evenly spread:
// the file mapped, in pieces that stay in the cache from the sum to the write, nothing computed, no locks, no messages, no names. What it
// writes are bytes that it has just looked at. Either may be nothing. Where files cannot be mapped they are read.
func (b *scrRates) stream(in string, size int64, out string, parity int64) error {
	const block, give = 64 << 10, 4 << 20
	var fi, fo vfs.File
	var m *vfs.Mapping
	var err error
	if size > 0 {
		if fi, err = vfs.OS.Open(in); err != nil {
			return err
		}
		defer fi.Close()
		if m, err = vfs.Map(fi, 0, size); err == nil {
			defer m.Close()
		}
	}
	if parity > 0 {
		if fo, err = vfs.OS.Create(out); err != nil {
			return err
		}
		defer fo.Close()
	}
	buf := make([]byte, block)
	done, crc, given := int64(0), uint32(0), int64(0)
	steps := (max(size, parity) + block - 1) / block
	for i := range steps {
		p := buf
		if lo, hi := size*i/steps, size*(i+1)/steps; hi > lo {
			if m != nil {
				p = m.Bytes()[lo:hi]
			} else if _, err := fi.ReadAt(buf[:hi-lo], lo); err != nil {
				return err
			}
			crc = crc32.Update(crc, crc32.IEEETable, p[:hi-lo])
			if m != nil && hi-given >= give {
				m.Drop(given, lo)
				given = lo
			}
		}
		want := parity * (i + 1) / steps
		for want-done >= block || i == steps-1 && done < want {
			n := min(block, want-done)
			q := p
			if int64(len(q)) < n {
				q = buf
			}
			if _, err := fo.WriteAt(q[:n], done); err != nil {
				return err
			}
			done += n
		}
	}
	b.sum.Add(int64(crc)) // so that nobody finds that it is not needed
	if fo != nil && b.o.Sync {
		return fo.Sync()
	}
	return nil
}

// rebuild measures the loss of rank 1, after an encode.
func (b *scrRates) rebuild(ctx context.Context, c comm.Comm, row *SCRRow, parity int64, note func(*[]float64, time.Duration), spent func(string, float64)) error {
	r := c.Rank()
	timed := func(to *[]float64, job string, lose bool, f func() error) error {
		if lose && r == 1 {
			names, _ := filepath.Glob(filepath.Join(b.dir, "1", "*"))
			for _, name := range names {
				if err := os.Remove(name); err != nil {
					return err
				}
			}
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		start, cpu := time.Now(), cpuTime()
		if err := f(); err != nil {
			return err
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		note(to, time.Since(start))
		spent(job, cpuTime()-cpu)
		return nil
	}
	recover := func() error {
		_, err := redset.Recover(ctx, c, vfs.OS, b.prefix(r), nil)
		return err
	}
	if err := timed(&row.Verify, "verify", false, recover); err != nil {
		return err
	}
	if err := timed(&row.Rebuild, "rebuild", true, recover); err != nil {
		return err
	}
	if err := timed(&row.Quick, "data only", true, func() error {
		_, err := redset.Recover(ctx, c, vfs.OS, b.prefix(r), &redset.RecoverOptions{DataOnly: true})
		return err
	}); err != nil {
		return err
	}
	data, err := filepath.Glob(b.prefix(r) + "*.grp_*.redset")
	if err != nil || len(data) != 1 {
		return fmt.Errorf("bench: rank %d has redundancy files %v (%v)", r, data, err)
	}
	all, err := c.Allgather(ctx, []byte(data[0]))
	if err != nil {
		return err
	}
	if err := timed(&row.Rest, "least rebuild", true, func() error { return b.rebuildFloor(r, all, parity) }); err != nil {
		return err
	}
	return timed(&row.Copy, "copy", true, func() error {
		if r != 0 {
			return nil
		}
		return b.copy(b.file(0), b.file(1))
	})
}

// rebuildFloor reads the files and the parity of the ranks that are left, and writes as many bytes as one lost.
func (b *scrRates) rebuildFloor(r int, redundancy [][]byte, parity int64) error {
	if r >= b.rep.Cores {
		return nil
	}
	type work struct {
		in   string
		size int64
		out  string
		n    int64
	}
	var list []work
	share := (b.o.Size + parity) / int64(b.o.Ranks-1)
	for i := range b.o.Ranks {
		if i == 1 {
			continue
		}
		list = append(list, work{b.file(i), b.o.Size, b.extra(i), share / 2}, work{string(redundancy[i]), parity, b.extra(i) + "2", share - share/2})
	}
	for i := r; i < len(list); i += b.rep.Cores {
		w := list[i]
		if err := b.stream(w.in, w.size, w.out, w.n); err != nil {
			return err
		}
	}
	return nil
}

// copy copies a file to a fresh one.
func (b *scrRates) copy(from, to string) error {
	in, err := vfs.OS.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := vfs.OS.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	buf := make([]byte, 256<<10)
	for off := int64(0); off < b.o.Size; off += int64(len(buf)) {
		p := buf[:min(int64(len(buf)), b.o.Size-off)]
		if _, err := in.ReadAt(p, off); err != nil {
			return err
		}
		if _, err := out.WriteAt(p, off); err != nil {
			return err
		}
	}
	if b.o.Sync {
		return out.Sync()
	}
	return nil
}
