package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"
	"unsafe"
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
