package blob

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

const envConvert = "BLOBIO_TEST_CONVERT" // input, output and kind of output, for the process that converts

// TestMain converts instead of running tests if envConvert is set. TestMemoryOfConvert measures the memory of this process.
func TestMain(m *testing.M) {
	if job := os.Getenv(envConvert); job != "" {
		if err := convertJob(strings.Split(job, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if crashtest.Places() == nil {
		read.LookAgain = time.Millisecond
	}
	crashtest.Main(m)
}

func convertJob(job []string) error {
	ctx := context.Background()
	r, err := read.Open(ctx, job[0], nil)
	if err != nil {
		return err
	}
	defer r.Close()
	o := &convert.ConvertOptions{Durability: dataset.DurableNone}
	switch job[2] {
	case "process":
		o.Blobs, o.Layout = true, dataset.ProcessCentric
	case "equal":
		o.Blobs, o.Ranks, o.Subfiles = true, 50, 4
	}
	if err := convert.Convert(ctx, r, job[1], o); err != nil {
		return err
	}
	peak, err := peakRSS()
	if err != nil {
		return err
	}
	fmt.Println(peak)
	return nil
}

// peakRSS returns the maximum resident memory of this process, in bytes.
func peakRSS() (int64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no VmHWM in /proc/self/status")
}

// TestMemoryOfConvert checks that a conversion of 4 GiB needs at most 512 MiB of resident memory.
func TestMemoryOfConvert(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("resident memory is read from /proc")
	}
	if os.Getenv("BLOBIO_LONG") == "" {
		t.Skip("only with BLOBIO_LONG=1: writes 8 GiB")
	}
	const size, limit = int64(4) << 30, int64(512) << 20
	dir := roomFor(t, 2*size+size/4)
	const ranks, levs = 32, 16
	cols := int64(1 << 20)
	records := size / (4 * levs * cols)
	s := dataset.NewSchema()
	tm, lev, col := s.Dim("time", dataset.Unlimited), s.Dim("lev", levs), s.Dim("ncol", cols)
	d := s.Decomp(lev, col)
	v := s.Var("T", cdf5.Float, []dataset.DimID{tm, lev, col}, dataset.Decomposed(d))
	in := filepath.Join(dir, "in.nc")
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		noError(t, comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
			var runs []decomp.Req // each rank has every ranks-th block of 64 columns
			for l := range int64(levs) {
				for at := int64(c.Rank()) * 64; at < cols; at += 64 * ranks {
					runs = append(runs, decomp.Req{Offset: l*cols + at, Length: 64})
				}
			}
			w := need(write.Create(ctx, c, in, s, []write.Part{{Decomp: d, Runs: runs}}, &dataset.Options{Layout: layout, Subfiles: 4, Records: records, Durability: dataset.DurableNone, Force: true}))
			x := make([]float32, w.Job.Count(d))
			for rec := range records {
				for i := range x {
					x[i] = float32(rec) + float32(i&1023)
				}
				must(write.Put(w, v, rec, x))
				must(w.Flush(ctx))
			}
			return w.Close(ctx)
		}))
		for _, kind := range []string{"canonical", "process", "equal"} {
			out := filepath.Join(dir, "out.nc")
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), envConvert+"="+in+"|"+out+"|"+kind)
			cmd.Stderr = os.Stderr
			b, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v to %s: %v", layout, kind, err)
			}
			peak := need(strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64))
			t.Logf("%v to %s: %d MiB resident at most, for %d MiB", layout, kind, peak>>20, size>>20)
			if peak > limit {
				t.Errorf("%v to %s: %d MiB resident, want at most %d", layout, kind, peak>>20, limit>>20)
			}
			names, _ := filepath.Glob(out + "*")
			for _, n := range names {
				noError(t, os.Remove(n))
			}
		}
	}
}

// roomFor returns an empty directory on a file system with n free bytes, in memory if possible.
func roomFor(t *testing.T, n int64) string {
	t.Helper()
	if free(t, "/dev/shm") > 2*n {
		dir, err := os.MkdirTemp("/dev/shm", "blobio-test-")
		if err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	dir := t.TempDir()
	if free(t, dir) < n {
		t.Skipf("no room for %d MiB in %s", n>>20, dir)
	}
	return dir
}

// free returns the number of free bytes on the file system of a directory, or 0 if it is unknown.
func free(t *testing.T, dir string) int64 {
	t.Helper()
	b, err := exec.Command("df", "-Pk", dir).Output()
	if err != nil {
		return 0
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	f := strings.Fields(lines[len(lines)-1])
	if len(f) < 4 {
		return 0
	}
	kb, _ := strconv.ParseInt(f[3], 10, 64)
	return kb << 10
}

// TestOpenReadsNoMaps checks that Open of a dataset of 21,600 ranks reads the manifest and the header of one subfile, but no
// maps.
func TestOpenReadsNoMaps(t *testing.T) {
	const ranks, per = 5400, 40
	s := dataset.NewSchema()
	tm, col := s.Dim("time", dataset.Unlimited), s.Dim("ncol", ranks*per)
	d := s.Decomp(col)
	s.Var("T", cdf5.Float, []dataset.DimID{tm, col}, dataset.Decomposed(d))
	b := decomp.NewBuilder([]int64{ranks * per}, ranks)
	for r := range ranks {
		var runs []decomp.Req
		for k := range int64(per / 2) { // every other element, so that runs cannot be merged
			runs = append(runs, decomp.Req{Offset: int64(r)*per + 2*k, Length: 1})
		}
		must(b.Set(r, runs))
	}
	m := need(b.Map())
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		t.Run(layout.String(), func(t *testing.T) {
			mem := vfs.NewMem()
			w := need(convert.NewBulk("d.nc", s, []*decomp.Map{m}, ranks, &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 4, Records: 1, Durability: dataset.DurableNone}, Knobs: dataset.Knobs{Fs: mem}}))
			ctx := context.Background()
			noError(t, w.Create(ctx, 1))
			noError(t, w.Commit(ctx, 1))
			count := vfs.Count(mem)
			r := opened(t, count, "d.nc", nil)
			if n, p := r.Now().Data.Subfiles(); n != 4 || p != ranks || r.Now().Data.Records != 1 || len(r.Now().Data.Schema.Vars) != 1 || r.Now().Data.Layout != layout || len(r.Now().Data.Missing()) != 0 {
				t.Fatalf("%d subfiles, %d ranks, %d records", n, p, r.Now().Data.Records)
			}
			info := need(mem.Stat("d.nc.manifest"))
			maps := ranks * (20 + 8*per/2) // bytes of nreqs, blob_start, blob_count, offsets and lengths
			read := count.Bytes(vfs.OpRead)
			t.Logf("%d bytes read, of which the manifest %d; the maps have %d", read, info.Size(), maps)
			if read > info.Size()+256<<10 || info.Size() > int64(maps)/10 {
				t.Fatalf("%d bytes read to open, the manifest has %d and the maps %d", read, info.Size(), maps)
			}
		})
	}
}
