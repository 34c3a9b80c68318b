//go:build linux && !386 && !arm

package judges

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/diary"
	"blobio/internal/base/testfiles"
	"blobio/internal/view/mount"
)

// mounted shows the datasets of the tests at another place, until the test ends.
func mounted(t *testing.T, version cdf5.Version) string {
	t.Helper()
	return mountedFrom(t, made.dir, &mount.Options{Version: version})
}

// mountedFrom mounts the datasets below a directory until the test ends.
func mountedFrom(t *testing.T, dir string, o *mount.Options) string {
	t.Helper()
	at := t.TempDir()
	m, err := mount.New(dir, at, o)
	if errors.Is(err, mount.ErrUnavailable) {
		t.Skipf("no FUSE mounts here: %v", err) // step mount of .ci/run says so
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := m.Unmount(ctx); err != nil {
			t.Error(err)
		}
	})
	return at
}

// shown are both forms of a dataset as files of a mount.
func (d *dataset) shown(at string) []string {
	return []string{filepath.Join(at, filepath.Base(d.variable)), filepath.Join(at, filepath.Base(d.process))}
}

// TestMountedBytes: cmp finds no difference to the converted file.
func TestMountedBytes(t *testing.T) {
	need(t, "cmp")
	at := mounted(t, 0)
	each(t, func(t *testing.T, d *dataset) {
		for _, path := range d.shown(at) {
			run(t, "cmp", path, d.canonical)
			if !bytes.Equal(contents(t, path), contents(t, d.canonical)) { // as the kernel keeps it
				t.Errorf("%s differs", path)
			}
		}
	})
}

// TestMountedNetCDF: tools of netCDF and PnetCDF print the same for a mounted and a converted file.
func TestMountedNetCDF(t *testing.T) {
	need(t, "ncdump", "ncvalidator", "nccopy")
	at := mounted(t, 0)
	some(t, func(t *testing.T, d *dataset) {
		for _, path := range d.shown(at) {
			for _, args := range [][]string{{"-h"}, {"-k"}, {"-p", "9,17"}} {
				got, want := run(t, "ncdump", append(args, "-n", "x", path)...), run(t, "ncdump", append(args, "-n", "x", d.canonical)...)
				if got != want || got == "" {
					t.Errorf("ncdump %v %s: %d characters, want %d", args, path, len(got), len(want))
				}
			}
			if out := run(t, "ncvalidator", path); !strings.Contains(out, "is a valid NetCDF classic CDF-5 file") {
				t.Errorf("%s", out)
			}
			copied := filepath.Join(t.TempDir(), "copied.nc")
			run(t, "nccopy", "-k", "cdf5", path, copied)
			if !bytes.Equal(contents(t, copied), contents(t, d.canonical)) {
				t.Errorf("nccopy of %s differs", path)
			}
		}
	})
}

// TestMountedNcksCdo: a level cut out by NCO, and all values that CDO prints.
func TestMountedNcksCdo(t *testing.T) {
	need(t, "ncks", "cdo")
	at := mounted(t, 0)
	for _, c := range configs {
		f := fieldOf[c.letter]
		d := one(t, c, f.history)
		r := open(t, d.canonical)
		for _, path := range d.shown(at) {
			name := field(t, r, f.level...)
			v, _ := r.Schema().VarID(name)
			axis := 1
			if c.letter == "G" {
				axis = 2
			}
			const level = 7
			out := filepath.Join(t.TempDir(), "level.nc")
			run(t, "ncks", "-O", "-h", "-v", name, "-d", fmt.Sprintf("%s,%d", f.level[axis], level), path, out)
			start, count := make([]int64, len(f.level)), shape(r, v)
			start[axis], count[axis] = level, 1
			typ := r.Schema().Vars()[v].Type
			same(t, fmt.Sprint(c, " ", name), little(t, typ, read(t, open(t, out), name, nil, nil)), little(t, typ, read(t, r, name, start, count)), typ.Size())

			name = field(t, r, f.flat...)
			cdoValues(t, fmt.Sprint(c, " ", name), run(t, "cdo", "-s", "outputf,%.17g,1", "-selname,"+name, path), read(t, r, name, nil, nil))
		}
	}
}

// TestMountedXarray: every variable, by both libraries that xarray reads such files with. Scipy's library knows no CDF-5.
func TestMountedXarray(t *testing.T) {
	py := python(t, "xarray", "netCDF4", "scipy")
	for engine, version := range map[string]cdf5.Version{"netcdf4": cdf5.CDF5, "scipy": cdf5.CDF2} {
		t.Run(engine, func(t *testing.T) {
			at := mounted(t, version)
			some(t, func(t *testing.T, d *dataset) {
				path := d.shown(at)[int(version)%2] // one form for each engine: another test compares their bytes
				ask(t, py, "read_xarray.py", path, "--engine="+engine).equals(t, open(t, d.canonical))
			})
		})
	}
}

// TestMountedNcview: ncview opens its window, which offers a field of the dataset.
func TestMountedNcview(t *testing.T) {
	need(t, "ncview", "Xvfb", "xwininfo")
	at := mounted(t, 0)
	d := one(t, configs[5], "I_h0")
	for _, path := range d.shown(at) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		server := command("Xvfb", "-displayfd", "3", "-screen", "0", "1024x768x24", "-nolisten", "tcp")
		server.ExtraFiles = []*os.File{w}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		end := func(c *exec.Cmd) {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		defer end(server)
		var display string
		if _, err := fmt.Fscan(r, &display); err != nil {
			t.Fatalf("Xvfb: %v", err)
		}
		r.Close()
		var said bytes.Buffer
		view := command("ncview", path)
		view.Env = append(view.Env, "DISPLAY=:"+display, "HOME="+t.TempDir())
		view.Stdout, view.Stderr = &said, &said
		if err := view.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- view.Wait() }()
		var tree []byte
		for until := time.Now().Add(2 * time.Minute); !bytes.Contains(tree, []byte("Ncview")); time.Sleep(50 * time.Millisecond) {
			select {
			case err := <-ended:
				t.Fatalf("ncview %s: %v\n%s", path, err, tail(said.String()))
			default:
			}
			if time.Now().After(until) {
				t.Fatalf("no window of ncview:\n%s%s", tail(string(tree)), tail(said.String()))
			}
			look := command("xwininfo", "-root", "-tree", "-display", ":"+display)
			tree, _ = look.CombinedOutput() // the server may not answer yet
		}
		_ = view.Process.Kill()
		<-ended
		if text := said.String(); strings.Contains(strings.ToLower(text), "error") {
			t.Errorf("ncview %s: %s", path, tail(text))
		}
	}
}

// TestMountedNcdumpMeetsDamage: one byte of a variable is damaged: that one cannot be dumped, others can, but for those that the library reads at the
// same time.
func TestMountedNcdumpMeetsDamage(t *testing.T) {
	need(t, "ncdump")
	src := one(t, configs[0], "F_h0")
	dir := t.TempDir()
	for _, name := range append(src.files(src.variable), src.variable+".manifest") {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), contents(t, name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	base := filepath.Join(dir, filepath.Base(src.variable))
	r := open(t, base)
	var deep []string
	for _, v := range r.Schema().Vars() {
		if v.Record && len(v.Dims) == 3 && v.Decomp != 0 {
			deep = append(deep, v.Name)
		}
	}
	bad, file := deep[len(deep)/2], ""
	for x, err := range r.Inspect().Extents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if file = x.File; x.Name == bad {
			b := contents(t, x.File)
			b[x.Offset+x.Bytes/2] ^= 1
			if err := os.WriteFile(x.File, b, 0o666); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	var log bytes.Buffer
	said, at := diary.New(&log, nil), t.TempDir()
	m, err := mount.New(dir, at, &mount.Options{Verify: blob.VerifyOnce, Log: said})
	if errors.Is(err, mount.ErrUnavailable) {
		t.Skipf("no FUSE mounts here: %v", err) // step mount of .ci/run says so
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Unmount(context.Background()) }) // where the test ends early
	path := filepath.Join(at, filepath.Base(base))
	for _, name := range []string{deep[0], deep[len(deep)/2-2], bad, deep[len(deep)/2+2], deep[len(deep)-1]} {
		out, err := command("ncdump", "-n", "x", "-v", name, path).CombinedOutput()
		if name == bad {
			if err == nil || !bytes.Contains(out, []byte("Input/output error")) {
				t.Errorf("%s, which is damaged: %v\n%s", name, err, tail(string(out)))
			}
		} else if want := run(t, "ncdump", "-n", "x", "-v", name, src.canonical); err != nil || string(out) != want {
			t.Errorf("%s, which is not damaged: %v\n%s", name, err, tail(string(out)))
		}
	}
	if err := m.Unmount(t.Context()); err != nil {
		t.Fatal(err)
	}
	said.Flush()
	if !strings.Contains(log.String(), file) {
		t.Errorf("the log: %s", log.String())
	}
}

// TestMountedNeighbours: a byte of one variable after the other is damaged. Of it, of those beside it and of two further away every program has the right values, or it
// fails.
func TestMountedNeighbours(t *testing.T) {
	need(t, "ncdump", "ncks", "cdo")
	py := python(t, "netCDF4", "scipy", "xarray")
	src := one(t, configs[0], "F_h1")
	for _, base := range []string{src.variable, src.process} {
		t.Run(filepath.Base(base), func(t *testing.T) { mountedNeighbours(t, py, src, base) })
	}
}

func mountedNeighbours(t *testing.T, py string, src *dataset, from string) {
	files := append(src.files(from), from+".manifest")
	dir := t.TempDir()
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), contents(t, name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	base := filepath.Join(dir, filepath.Base(from))
	r := open(t, base)
	sound := mountedFrom(t, dir, &mount.Options{Version: cdf5.CDF2})
	var names []string
	where := map[string]blob.Extent{}
	for x, err := range r.Inspect().Extents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := where[x.Name]; !ok && !x.Map && x.Bytes > 0 {
			where[x.Name] = x
		}
	}
	for _, v := range r.Schema().Vars() {
		if _, ok := where[v.Name]; ok && v.Record && v.Decomp != 0 {
			names = append(names, v.Name)
		}
	}
	if len(names) < 20 {
		t.Fatalf("%d variables", len(names))
	}
	programs := [][]string{{"ncdump", "-n", "x", "-v", "NAME", "FILE"}, {"ncks", "--trd", "-H", "-C", "-v", "NAME", "FILE"},
		{"cdo", "-s", "outputf,%.9g,1", "-selname,NAME", "FILE"}, {py, "testdata/print_values.py", "netCDF4", "FILE", "NAME"}, {py, "testdata/print_values.py", "scipy", "FILE", "NAME"},
		{py, "testdata/print_values.py", "xarray", "FILE", "NAME"}}
	says := func(program []string, at, name string) ([]byte, error) {
		args := strings.Fields(strings.NewReplacer("NAME", name, "FILE", filepath.Join(at, filepath.Base(base))).Replace(strings.Join(program, " ")))
		return command(args[0], args[1:]...).Output()
	}
	want := map[string][]byte{}
	step, failed, right := 6, 0, 0
	if testfiles.Asked("LONG") {
		step = 1
	}
	const far = 6
	for i := far; i < len(names)-far; i += step {
		beside := []string{names[i], names[i-1], names[i+1], names[i-far], names[i+far]}
		x := where[names[i]]
		b := contents(t, x.File)
		b[x.Offset+x.Bytes/2] ^= 1
		for p, program := range programs {
			for _, name := range beside {
				key := fmt.Sprint(p, name)
				if want[key] == nil {
					out, err := says(program, sound, name)
					if err != nil || len(out) == 0 {
						t.Fatalf("%v %s: %v", program, name, err)
					}
					want[key] = out
				}
			}
		}
		bad := t.TempDir()
		for _, name := range files {
			to := filepath.Join(bad, filepath.Base(name))
			content := contents(t, filepath.Join(dir, filepath.Base(name)))
			if filepath.Base(name) == filepath.Base(x.File) {
				content = b
			}
			if err := os.WriteFile(to, content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		at := mountedFrom(t, bad, &mount.Options{Version: cdf5.CDF2})
		for p, program := range programs {
			for k, name := range beside {
				switch out, err := says(program, at, name); {
				case err != nil:
					failed++
				case k == 0:
					t.Errorf("%v: %s is damaged, and no error", program, name)
				case !bytes.Equal(out, want[fmt.Sprint(p, name)]):
					t.Errorf("%v: %s has other values beside %s, which is damaged", program, name, names[i])
				default:
					right++
				}
			}
		}
	}
	if t.Logf("%d reads failed, %d were right", failed, right); right == 0 {
		t.Error("nothing can be read")
	}
}
