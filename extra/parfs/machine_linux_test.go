package parfs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
)

// A machine is a process that represents another machine. It answers each command with a line.
type machine struct {
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Scanner
}

// boot starts a machine that has a dataset to write; it takes the commands of play.
func boot(t *testing.T, host, name string) *machine {
	t.Helper()
	id := t.TempDir() + "/boot_id"
	if err := os.WriteFile(id, []byte("machine-"+host+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", host, id, name)
	cmd.Env = append(os.Environ(), envRole+"=writer")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUTS, Unshareflags: unix.CLONE_NEWNS}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = r
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	m := &machine{cmd, w, bufio.NewScanner(out)}
	t.Cleanup(m.kill)
	return m
}

// ask sends a command and returns the answer.
func (m *machine) ask(t *testing.T, command string) string {
	t.Helper()
	if _, err := fmt.Fprintln(m.in, command); err != nil {
		t.Fatal(err)
	}
	return m.answer(t)
}

func (m *machine) answer(t *testing.T) string {
	t.Helper()
	if !m.out.Scan() {
		t.Fatal("the machine has gone")
	}
	return m.out.Text()
}

// kill ends a machine as a power cut would; it may be called again.
func (m *machine) kill() {
	_ = m.cmd.Process.Kill()
	m.in.Close()
	_ = m.cmd.Wait() // it was killed
}

// play is the main program of a machine. Commands: "hold N" writes and flushes value N, and stops there; "go" commits what is held; "write N" does
// both, "many N M" does for each of N to M, with a line for each.
func play(_ string, args []string) int {
	if err := errors.Join(unix.Sethostname([]byte(args[0])), unix.Mount(args[1], "/proc/sys/kernel/random/boot_id", "", unix.MS_BIND, "")); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	if got := vfs.BootID(); got != "machine-"+args[0] {
		fmt.Println("error: the kernel calls itself", got)
		return 1
	}
	commands := bufio.NewScanner(os.Stdin)
	next := func(err error) {
		if err != nil {
			fmt.Println("error:", strings.ReplaceAll(err.Error(), "\n", "; "))
		} else {
			fmt.Println("ok")
		}
	}
	for commands.Scan() {
		f := strings.Fields(commands.Text())
		from, _ := strconv.Atoi(f[1])
		switch f[0] {
		case "hold":
			next(write(args[2], int32(from), func() {
				fmt.Println("holds")
				commands.Scan()
			}))
		case "write":
			next(write(args[2], int32(from), nil))
		case "many":
			to, _ := strconv.Atoi(f[2])
			for v := from; v <= to; v++ {
				next(write(args[2], int32(v), nil))
			}
		}
	}
	return 0
}

// elements is the number of elements of a dataset, in two subfiles of two ranks each.
const elements = 200_000

// write replaces a dataset by one in which all elements are v. Between the flush and Close rank 0 calls hold.
func write(name string, v int32, hold func()) error {
	return comm.Run(context.Background(), 4, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		x := s.Dim("x", elements)
		d := s.Decomp(x)
		id := s.Var("v", cdf5.Int, []blob.DimID{x}, blob.Decomposed(d))
		per := int64(elements / c.Size())
		w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d, Runs: []decomp.Req{{Offset: int64(c.Rank()) * per, Length: per}}}},
			&blob.Options{Force: true, Subfiles: 2})
		if err != nil {
			return err
		}
		data := make([]int32, per)
		for i := range data {
			data[i] = v
		}
		if err := errors.Join(blob.Put(w, id, 0, data), w.Flush(ctx)); err != nil {
			w.Abort()
			return err
		}
		if hold != nil {
			if c.Rank() == 0 {
				hold()
			}
			if err := c.Barrier(ctx); err != nil {
				w.Abort()
				return err
			}
		}
		return w.Close(ctx)
	})
}

// read returns the value that all elements of a dataset have.
func read(name string) (int32, error) {
	ctx := context.Background()
	r, err := blob.Open(ctx, name, nil)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	data := make([]int32, elements)
	if err := r.Read(ctx, "v", []int64{0}, []int64{elements}, data); err != nil {
		return 0, err
	}
	for i, v := range data {
		if v != data[0] {
			return 0, fmt.Errorf("element %d is %d, and element 0 is %d", i, v, data[0])
		}
	}
	return data[0], nil
}
