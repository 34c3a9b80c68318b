//go:build linux && !386 && !arm

// Lockfs runs a command on a file system that counts the locks that its calls would take on Lustre (package lockfs).
//
//	lockfs -dir DIR -nodes 4 -ranks 16 -- mpirun -n 16 {} PROGRAM ...
//
// The directory is served to each simulated node by a mount of its own. In the place of {} comes this program,
// which finds the rank that mpirun or srun has given it, and puts the mount of the rank's node in the place of DIR, for PROGRAM only:
// nothing else notices, and DIR holds the files at the end. Without ranks, {} is node 0. It needs root, for mounts.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"blobio/extra/peers/lockfs"
	"blobio/extra/peers/lockfs/mount"
)

func main() {
	run := alone
	switch {
	case os.Getenv(envDir) != "":
		run = child
	case os.Getenv(envAlone) != "":
		run = parent
	}
	if err := run(os.Args[1:]); err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && os.Getenv(envAlone) == "" {
			os.Exit(1) // it has printed the reason
		}
		fmt.Fprintln(os.Stderr, "lockfs:", err)
		os.Exit(1)
	}
}

// alone runs the program again in a separate mount name space, so that no mount remains at its end.
func alone(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), envAlone+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // Pdeathsig is of the thread
	return cmd.Run()
}

func parent(args []string) (err error) {
	cfg := lockfs.Config{Layout: lockfs.Layout{Size: 1 << 20, Count: 4}, Costs: lockfs.DefaultCosts, Dirs: map[string]lockfs.Layout{}}
	f := flag.NewFlagSet("lockfs", flag.ExitOnError)
	dir := f.String("dir", "", "directory that is served")
	ranks := f.Int("ranks", 1, "ranks of the command, in blocks of equal length on nodes")
	asJSON := f.String("json", "", "file for the report; default: tables on standard error")
	trace := f.String("trace", "", "file for a line of each metadata call: node, thread, call, name")
	f.IntVar(&cfg.Clients, "nodes", 1, "simulated nodes")
	f.IntVar(&cfg.Servers, "servers", 8, "storage servers")
	f.Int64Var(&cfg.Layout.Size, "stripe-size", cfg.Layout.Size, "bytes of a stripe unit")
	f.IntVar(&cfg.Count, "stripe-count", cfg.Count, "servers of a file")
	f.BoolVar(&cfg.Costs.Sleep, "sleep", false, "calls take the time that they would")
	f.Func("layout", "`DIR=SIZE:COUNT`: stripes of files below a directory", func(s string) error {
		var l lockfs.Layout
		name, v, _ := strings.Cut(s, "=")
		if _, err := fmt.Sscanf(v, "%d:%d", &l.Size, &l.Count); err != nil {
			return fmt.Errorf("%q, want DIR=SIZE:COUNT", s)
		}
		cfg.Dirs[filepath.ToSlash(filepath.Clean(name))] = l
		return nil
	})
	f.Parse(args)
	if *dir == "" || f.NArg() == 0 || *ranks < 1 {
		return fmt.Errorf("want -dir, at least one rank, and a command")
	}
	if *trace != "" {
		w, err := os.Create(*trace)
		if err != nil {
			return err
		}
		defer w.Close()
		cfg.Trace = func(client int, thread uint32, kind, name string) { fmt.Fprintln(w, client, thread, kind, name) }
	}
	s, err := lockfs.New(cfg)
	if err != nil {
		return err
	}
	at, err := os.MkdirTemp("", "lockfs-")
	if err != nil {
		return err
	}
	defer os.Remove(at)
	abs, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	var mounts []*mount.Mount
	unmount := func() {
		for _, m := range mounts {
			if uerr := m.Unmount(); err == nil {
				err = uerr
			}
		}
		for i := range mounts {
			os.Remove(filepath.Join(at, strconv.Itoa(i)))
		}
		mounts = nil
	}
	defer unmount()
	for i := range cfg.Clients {
		path := filepath.Join(at, strconv.Itoa(i))
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		m, err := mount.New(s, i, abs, path)
		if err != nil {
			os.Remove(path)
			return err
		}
		mounts = append(mounts, m)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	words := f.Args()
	for i, w := range words {
		if w == "{}" {
			words[i] = self
		}
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), envDir+"="+abs, envMounts+"="+at, fmt.Sprintf("%s=%d", envPer, (*ranks+cfg.Clients-1)/cfg.Clients))
	cerr := cmd.Run()
	unmount()
	if cerr != nil || err != nil {
		return fmt.Errorf("%s: %w", words[0], either(cerr, err))
	}
	r := s.Report()
	if *asJSON == "" {
		return r.Print(os.Stderr)
	}
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(*asJSON, append(b, '\n'), 0o666)
}

func either(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
