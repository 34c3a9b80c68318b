package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"time"
	"unsafe"

	"blobio/blob"
)

// ceilings are rows of the machine alone.
func (s *session) ceilings(ctx context.Context) error {
	size := int64(1 << 30)
	if s.Quick {
		size = 1 << 20
	}
	if err := s.room(2 * size); err != nil {
		return err
	}
	file := s.path("raw")
	row := func(what string, n int, sync bool, f func() (time.Duration, error)) runner {
		who := "1 writer"
		if n > 1 {
			who = fmt.Sprintf("%d writers", n)
		}
		return runner{row: &Row{Data: fmt.Sprintf("%d MiB", size>>20), What: what, Who: who, Bytes: size, Sync: sync},
			run: func(context.Context) (Took, error) {
				d, err := f()
				return Took{Seconds: d.Seconds()}, err
			}}
	}
	src := make([]byte, size)
	for i := range src {
		src[i] = byte(i * 7)
	}
	var list []runner
	for _, n := range counts(cores()) {
		list = append(list, row("memcpy", n, false, func() (time.Duration, error) { return memcpy(size, n), nil }))
		for _, reserve := range []bool{false, true} {
			what := "write"
			if reserve {
				what = "write, reserved"
			}
			list = append(list,
				row(what, n, false, func() (time.Duration, error) { return rawWrite(file, size, 1<<20, n, reserve, false) }),
				row(what+", fsync", n, true, func() (time.Duration, error) { return rawWrite(file, size, 1<<20, n, reserve, true) }))
		}
		for _, l := range floors {
			list = append(list, row(l.what, n, false, func() (time.Duration, error) { return l.write(file, src, 256<<10, n) }))
		}
		list = append(list, row("write, direct", n, false, func() (time.Duration, error) { return direct(file, size, n, true) }))
	}
	for i := 0; i < len(list); i++ { // what cannot be done here is left out
		if strings.HasSuffix(list[i].row.What, "direct") {
			if _, err := list[i].run(ctx); err != nil {
				s.skip(list[i].row.What, err)
				list = append(list[:i], list[i+1:]...)
				i--
			}
		}
	}
	if err := s.race(ctx, true, list...); err != nil {
		return err
	}
	if err := plainFile(file, size); err != nil {
		return err
	}
	list = nil
	for _, n := range counts(cores()) {
		list = append(list, row("read", n, false, func() (time.Duration, error) { return readCeiling(file, n) }))
		r := row("read, direct", n, false, func() (time.Duration, error) { return direct(file, size, n, false) })
		if _, err := r.run(ctx); err == nil {
			list = append(list, r)
		}
	}
	for _, r := range list {
		r.row.Who = strings.Replace(r.row.Who, "writer", "reader", 1)
	}
	return s.race(ctx, true, list...)
}

// counts of writers: one, and as many as there are cores.
func counts(n int) []int {
	if n == 1 {
		return []int{1}
	}
	return []int{1, n}
}

func plainFile(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	b := bytes.Repeat([]byte{7}, 1<<20)
	for at := int64(0); at < size; at += int64(len(b)) {
		if _, err := f.WriteAt(b[:min(int64(len(b)), size-at)], at); err != nil {
			f.Close()
			return err
		}
	}
	return f.Close()
}

// direct writes a file, which is removed, or reads one past the page cache. Buffers, offsets and
// lengths are multiples of 4 KiB, as the kernel wants them.
func direct(name string, size int64, workers int, write bool) (time.Duration, error) {
	const block, align = 4 << 20, 4096
	if write {
		name += ".direct"
		defer os.Remove(name)
	}
	f, err := openDirect(name, write)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	size = size / align * align
	bufs := make([][]byte, workers)
	for w := range bufs {
		b := make([]byte, block+align)
		skip := (align - int(uintptr(unsafe.Pointer(&b[0]))%align)) % align
		bufs[w] = b[skip : skip+block]
		for i := range bufs[w] {
			bufs[w][i] = byte(i)
		}
	}
	start := time.Now()
	err = striped(size, block, workers, func(w int, off int64, n int) error {
		if write {
			_, err := f.WriteAt(bufs[w][:n], off)
			return err
		}
		_, err := f.ReadAt(bufs[w][:n], off)
		return err
	})
	return time.Since(start), err
}

// profile says where processor time goes. The table is made by the tool of Go, so it needs one.
func (s *session) profile(ctx context.Context) error {
	goTool := either("go")
	if goTool == "" {
		return fmt.Errorf("no go to print profiles with: %w", errSkip)
	}
	j, data := s.fCase("h0", 64)
	t, names, err := s.datasets(ctx, j, 0)
	if err != nil {
		return err
	}
	all, err := t.fillAll()
	if err != nil {
		return err
	}
	deep := t.find(3)
	dst := make([]float32, t.c.Elems(deep))
	for _, l := range layouts {
		r, err := blob.Open(ctx, names[l], nil)
		if err != nil {
			return err
		}
		defer r.Close()
		name := s.path("profiled")
		for _, what := range []struct {
			name string
			f    func() error
		}{
			{"write", func() error {
				if err := removeDataset(name); err != nil {
					return err
				}
				_, err := t.once(ctx, all, name, t.options(l))
				return err
			}},
			{"read a variable", func() error { return r.Read(ctx, t.c.Vars[deep].Name, nil, nil, dst) }},
			{"convert to canonical", func() error {
				return blob.Convert(ctx, r, name, &blob.ConvertOptions{Force: true, Durability: blob.DurableNone})
			}},
		} {
			if err := what.f(); err != nil { // loads maps, makes pages
				return err
			}
			p, err := s.profileOf(ctx, goTool, what.f)
			if err != nil {
				return err
			}
			p.What = fmt.Sprintf("%s, %s, %s", data, what.name, l)
			s.res.Profiles = append(s.res.Profiles, *p)
			if err := removeDataset(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// profileOf runs f for some seconds.
func (s *session) profileOf(ctx context.Context, goTool string, f func() error) (*Profile, error) {
	file, long := s.path("cpu.pprof"), 3*time.Second
	if s.Quick {
		long = 100 * time.Millisecond
	}
	out, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	if err := pprof.StartCPUProfile(out); err != nil {
		return nil, fmt.Errorf("%w: %w", errSkip, err) // somebody else profiles
	}
	for start := time.Now(); err == nil && ctx.Err() == nil && time.Since(start) < long; {
		err = f()
	}
	pprof.StopCPUProfile()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	lines, err := profileLines(ctx, goTool, file)
	return &Profile{Lines: lines}, err
}

// profileLines are the functions that a profile of the processor has most of; flags are pprof's.
func profileLines(ctx context.Context, goTool, file string, flags ...string) (lines []string, err error) {
	text, err := output(ctx, exec.CommandContext(ctx, goTool, append(append([]string{"tool", "pprof", "-top", "-nodecount", "12"}, flags...), file)...))
	if err != nil {
		return nil, err
	}
	_, table, _ := strings.Cut(string(text), "flat%")
	for line := range strings.Lines(table) {
		if w := strings.Fields(line); len(w) >= 6 && strings.HasSuffix(w[1], "%") {
			lines = append(lines, fmt.Sprintf("%6s  %s", w[1], strings.Join(w[5:], " ")))
		}
	}
	return lines, nil
}
