package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The original SCR packed four ranks with a container size of 8000 into containers of 8000, 8000 and 4982
// bytes.
func TestPackOfReference(t *testing.T) {
	var got [][]Segment
	at := int64(0)
	for _, n := range []int64{5000, 5321, 5330, 5331} {
		segs, err := Pack(8000, at, n, "")
		if err != nil {
			t.Fatal(err)
		}
		got, at = append(got, segs), at+n
	}
	want := [][]Segment{
		{{"ctr.0.scr", 0, 5000}},
		{{"ctr.0.scr", 5000, 3000}, {"ctr.1.scr", 0, 2321}},
		{{"ctr.1.scr", 2321, 5330}},
		{{"ctr.1.scr", 7651, 349}, {"ctr.2.scr", 0, 4982}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPackErrors(t *testing.T) {
	for _, x := range []struct {
		size, offset, length int64
		want                 error
	}{
		{0, 0, 1, fault.ErrUsage}, {-1, 0, 1, fault.ErrUsage}, {1, -1, 1, fault.ErrUsage}, {1, 0, -1, fault.ErrUsage}, {1, math.MaxInt64, 1, fault.ErrUsage},
		{1, 0, 1 << 40, fault.ErrTooLarge},
	} {
		if _, err := Pack(x.size, x.offset, x.length, ""); !errors.Is(err, x.want) {
			t.Errorf("%+v: %v", x, err)
		}
	}
}

// The container ranges must cover the stream once and in order, and must fit into the containers.
func TestPackProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 200).Draw(t, "size")
		var at int64
		for _, n := range rapid.SliceOfN(rapid.Int64Range(0, 500), 0, 20).Draw(t, "files") {
			segs, err := Pack(size, at, n, "")
			if err != nil || segs == nil {
				t.Fatal(segs, err)
			}
			end := at + n
			for _, s := range segs {
				if s.File != ContainerName("", at/size) || s.Offset != at%size || s.Length <= 0 || s.Offset+s.Length > size {
					t.Fatalf("at %d: %+v", at, s)
				}
				at += s.Length
			}
			if at != end {
				t.Fatalf("up to %d, want %d", at, end)
			}
		}
	})
}

// inContainers returns jobs that pack a list of files, and jobs that unpack them.
func inContainers(t testing.TB, mem vfs.FS, size int64) (out, in []Job, data [][]byte) {
	t.Helper()
	at := int64(0)
	for r := range 4 {
		for f := range 3 {
			n := r*1777 + f*409
			if r == 2 && f == 1 {
				n = 0
			}
			b := noise(uint64(10*r+f), n)
			name := fmt.Sprintf("%d.%d", r, f)
			put(t, mem, "/src/"+name, b)
			segs, err := Pack(size, at, int64(n), "/pfs/ctr")
			if err != nil {
				t.Fatal(err)
			}
			data, at = append(data, b), at+int64(n)
			j, k := job("/src/"+name, "", b), job("", "/back/"+name, b)
			j.Out, k.In = segs, segs
			out, in = append(out, j), append(in, k)
		}
	}
	return out, in, data
}

func TestThroughContainers(t *testing.T) {
	ctx := context.Background()
	for _, size := range []int64{1, 1000, 4096, 8000, 1 << 30} {
		mem := vfs.NewMem()
		out, in, data := inContainers(t, mem, size)
		if size == 1 {
			out, in, data = out[:2], in[:2], data[:2]
		}
		e := engine(t, Options{FS: mem, BufSize: 4096, Files: 3, Sync: true})
		if _, err := e.CopyAll(ctx, out); err != nil {
			t.Fatal(err)
		}
		crashed := mem.CrashClone(vfs.CrashOptions{})
		for _, m := range []*vfs.Mem{mem, crashed} {
			if _, err := engine(t, Options{FS: m, BufSize: 4096, Files: 3}).CopyAll(ctx, in); err != nil {
				t.Fatal(err)
			}
			for i, j := range in {
				if !bytes.Equal(get(t, m, j.Dst), data[i]) {
					t.Errorf("size %d: %s differs", size, j.Dst)
				}
			}
		}
		// If all files exist, none is copied again. After a byte is flipped, only that file is copied again.
		res, err := e.Resume(ctx, out)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range res {
			if !r.Skipped {
				t.Errorf("size %d: job %d was copied again", size, i)
			}
		}
		if size != 8000 {
			continue
		}
		f, err := mem.OpenRW("/pfs/ctr/ctr.0.scr")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{data[11][0] ^ 1}, out[4].Out[0].Offset); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if _, err := e.Copy(ctx, in[4]); !errors.Is(err, fault.ErrChecksum) {
			t.Error(err)
		}
		if res, err = e.Resume(ctx, out); err != nil {
			t.Fatal(err)
		}
		for i, r := range res {
			if r.Skipped == (i == 4) {
				t.Errorf("job %d: skipped %v", i, r.Skipped)
			}
		}
	}
}

// Each container is synced only once, not once for each file.
func TestContainerSyncs(t *testing.T) {
	mem := vfs.NewMem()
	out, _, _ := inContainers(t, mem, 8000)
	c := vfs.Count(mem)
	if _, err := engine(t, Options{FS: c, Sync: true, Files: 1}).CopyAll(context.Background(), out); err != nil {
		t.Fatal(err)
	}
	files, err := mem.ReadDir("/pfs/ctr")
	if err != nil {
		t.Fatal(err)
	}
	if n := c.Kind(vfs.OpSync); n != int64(len(files)) {
		t.Errorf("%d syncs of %d containers", n, len(files))
	}
	if n := c.Kind(vfs.OpCreate); n != int64(len(files))+1 { // one attempt fails because the folder is missing
		t.Errorf("%d files made of %d", n, len(files))
	}
}

func TestContainerFaults(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	out, _, _ := inContainers(t, mem, 8000)
	c := vfs.Count(mem)
	if _, err := engine(t, Options{FS: c, Sync: true, Files: 2}).CopyAll(ctx, out); err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= c.Ops(); n++ {
		mem := vfs.NewMem()
		out, in, data := inContainers(t, mem, 8000)
		if _, err := engine(t, Options{FS: vfs.FailNth(mem, n, errBoom), Sync: true, Files: 2}).CopyAll(ctx, out); !errors.Is(err, errBoom) {
			t.Fatalf("operation %d: %v", n, err)
		}
		if _, err := engine(t, Options{FS: mem, Sync: true}).Resume(ctx, out); err != nil {
			t.Fatal(err)
		}
		m := mem.CrashClone(vfs.CrashOptions{})
		if _, err := engine(t, Options{FS: m}).CopyAll(ctx, in); err != nil {
			t.Fatalf("after operation %d failed: %v", n, err)
		}
		for i, j := range in {
			if !bytes.Equal(get(t, m, j.Dst), data[i]) {
				t.Errorf("operation %d: %s differs", n, j.Dst)
			}
		}
	}
}

func TestShortContainer(t *testing.T) {
	mem := vfs.NewMem()
	put(t, mem, "/ctr", noise(1, 100))
	j := Job{In: []Segment{{"/ctr", 90, 5}, {"/ctr", 95, 20}}, Dst: "/g", Size: -1}
	_, err := engine(t, Options{FS: mem}).Copy(context.Background(), j)
	var fe *fault.FormatError
	if !errors.Is(err, fault.ErrTruncated) || !errors.As(err, &fe) || fe.Offset != 100 || fe.File != "/ctr" {
		t.Errorf("%v", err)
	}
	noTemps(t, mem, "/")
}

func TestBadJobs(t *testing.T) {
	s := func(n int64) []Segment { return []Segment{{"/c", 0, n}} }
	for i, jobs := range [][]Job{
		{{Dst: "/g", Size: -1}},
		{{Src: "/f", Size: -1}},
		{{Src: "/f", Dst: "/g", Size: -2}},
		{{Src: "/f", Out: s(1), Size: 2}},
		{{In: s(1), Dst: "/g", Size: 2}},
		{{In: []Segment{{"/c", -1, 1}}, Dst: "/g", Size: -1}},
		{{In: []Segment{{"/c", 0, -1}}, Dst: "/g", Size: -1}},
		{{In: []Segment{{"/c", math.MaxInt64, 1}}, Dst: "/g", Size: -1}},
		{{In: []Segment{{"/c", 0, math.MaxInt64}, {"/c", 0, 1}}, Dst: "/g", Size: -1}},
		{{In: []Segment{{"", 0, 1}}, Dst: "/g", Size: -1}},
		{{Src: "/f", Dst: "/x/../g", Size: -1}, {Src: "/f", Dst: "/g", Size: -1}},
		{{Src: "/f", Out: []Segment{{"/c", 0, 10}}, Size: -1}, {Src: "/f", Out: []Segment{{"/c", 9, 10}}, Size: -1}},
		{{Src: "/f", Out: []Segment{{"/g", 0, 10}}, Size: -1}, {Src: "/f", Dst: "/g", Size: -1}},
	} {
		mem := vfs.NewMem()
		put(t, mem, "/f", noise(1, 10))
		c := vfs.Count(mem)
		_, err := engine(t, Options{FS: c}).CopyAll(context.Background(), jobs)
		var je *JobError
		if !errors.Is(err, fault.ErrUsage) || !errors.As(err, &je) || je.Index != len(jobs)-1 && i != 12 {
			t.Errorf("%d: %v", i, err)
		}
		if c.Ops() > 0 {
			t.Errorf("%d: something was done", i)
		}
	}
}
