package parfs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A system is a parallel file system with two mounts.
type system struct {
	name   string
	mount  [2]string
	spare  bool                      // it goes on without one of its servers
	kill   func(t *testing.T, n int) // kills server n from 0, of 3
	revive func(t *testing.T, n int) // starts it again
}

// systems are started once, and end with the program.
func systems(t *testing.T) []*system {
	need(t)
	all, err := started()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// each runs a test on all of them.
func each(t *testing.T, f func(t *testing.T, s *system)) {
	for _, s := range systems(t) {
		t.Run(s.name, func(t *testing.T) { f(t, s) })
	}
}

var started = sync.OnceValues(func() ([]*system, error) {
	g, err := gluster(os.Getenv(envInside))
	if err != nil {
		return nil, fmt.Errorf("GlusterFS: %w", err)
	}
	m, err := moose(os.Getenv(envInside))
	if err != nil {
		return nil, fmt.Errorf("MooseFS: %w", err)
	}
	return append(g, m), nil
})

// command runs a program to its end.
func command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out.String())
	}
	return nil
}

// until tries again for 30 s: daemons are ready some time after they have started.
func until(try func() error) (err error) {
	for from := time.Now(); time.Since(from) < 30*time.Second; time.Sleep(50 * time.Millisecond) {
		if err = try(); err == nil {
			return nil
		}
	}
	return err
}

// mounted makes two directories, mounts with f, and waits until a file can be written there.
func mounted(dir string, f func(at string) error) (m [2]string, err error) {
	for i := range m {
		m[i] = filepath.Join(dir, fmt.Sprintf("mount%d", i))
		if err = os.MkdirAll(m[i], 0o755); err == nil {
			err = until(func() error { return f(m[i]) })
		}
		if err != nil {
			return m, err
		}
	}
	return m, until(func() error {
		name := filepath.Join(m[0], ".ready")
		if err := os.WriteFile(name, bytes.Repeat([]byte("x"), 1<<20), 0o644); err != nil {
			return err
		}
		return os.Remove(name)
	})
}

// gluster starts GlusterFS with two volumes of three bricks.
func gluster(dir string) (all []*system, err error) {
	if err := command("glusterd"); err != nil {
		return nil, err
	}
	cli := func(args ...string) error { return command("gluster", append([]string{"--mode=script"}, args...)...) }
	for _, v := range []struct {
		name string
		kind []string
	}{{"distribute", nil}, {"replica", []string{"replica", "3"}}} {
		at := filepath.Join(dir, v.name)
		args := append([]string{"volume", "create", v.name}, v.kind...)
		for i := range 3 {
			brick := filepath.Join(at, fmt.Sprintf("brick%d", i))
			if err := os.MkdirAll(brick, 0o755); err != nil {
				return nil, err
			}
			args = append(args, "server:"+brick)
		}
		if err := until(func() error { return cli(append(args, "force")...) }); err != nil {
			return nil, err
		}
		if err := cli("volume", "start", v.name); err != nil {
			return nil, err
		}
		s := &system{name: "gluster-" + v.name, spare: v.kind != nil}
		if s.mount, err = mounted(at, func(m string) error {
			return command("glusterfs", "-s", "server", "--volfile-id="+v.name, m)
		}); err != nil {
			return nil, err
		}
		s.kill = func(t *testing.T, n int) {
			pids, err := filepath.Glob(fmt.Sprintf("/run/gluster/vols/%s/*brick%d.pid", v.name, n))
			if err != nil || len(pids) != 1 {
				t.Fatalf("%v: %v", pids, err)
			}
			b, err := os.ReadFile(pids[0])
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGKILL)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s.revive = func(t *testing.T, _ int) {
			if err := cli("volume", "start", v.name, "force"); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// moose starts MooseFS with a master and three chunk servers; each chunk has two copies.
func moose(dir string) (*system, error) {
	dir = filepath.Join(dir, "moose")
	write := func(name string, lines ...string) (string, error) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return "", err
		}
		return name, os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
	}
	daemon := func(program, config string) (*exec.Cmd, error) {
		cmd := exec.Command(program, "-c", config, "-f", "start")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd, cmd.Start()
	}
	exports, err := write("exports.cfg", "* / rw,alldirs,maproot=0")
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, "master"), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "master/metadata.mfs"), []byte("MFSM NEW"), 0o644); err != nil {
		return nil, err
	}
	config, err := write("master.cfg", "WORKING_USER = root", "WORKING_GROUP = root", "DATA_PATH = "+dir+"/master", "EXPORTS_FILENAME = "+exports,
		"MATOML_LISTEN_HOST = "+serverIP, "MATOCS_LISTEN_HOST = "+serverIP, "MATOCL_LISTEN_HOST = "+serverIP)
	if err != nil {
		return nil, err
	}
	if _, err := daemon("mfsmaster", config); err != nil {
		return nil, err
	}
	var chunk [3]func() (*exec.Cmd, error)
	var now [3]*exec.Cmd
	for i := range chunk {
		at := filepath.Join(dir, fmt.Sprintf("chunk%d", i))
		for _, d := range []string{"data", "disk"} {
			if err := os.MkdirAll(filepath.Join(at, d), 0o755); err != nil {
				return nil, err
			}
		}
		disks, err := write(fmt.Sprintf("chunk%d/disks.cfg", i), at+"/disk")
		if err != nil {
			return nil, err
		}
		config, err := write(fmt.Sprintf("chunk%d/server.cfg", i), "WORKING_USER = root", "WORKING_GROUP = root", "DATA_PATH = "+at+"/data", "HDD_CONF_FILENAME = "+disks,
			"HDD_LEAVE_SPACE_DEFAULT = 16MiB", "BIND_HOST = "+serverIP, "MASTER_HOST = "+serverIP, "MASTER_RECONNECTION_DELAY = 1",
			"CSSERV_LISTEN_HOST = "+serverIP, fmt.Sprintf("CSSERV_LISTEN_PORT = %d", 9430+i))
		if err != nil {
			return nil, err
		}
		chunk[i] = func() (*exec.Cmd, error) { return daemon("mfschunkserver", config) }
		if now[i], err = chunk[i](); err != nil {
			return nil, err
		}
	}
	s := &system{name: "moose", spare: true}
	if s.mount, err = mounted(dir, func(m string) error { return command("mfsmount", m, "-H", serverIP) }); err != nil {
		return nil, err
	}
	if err := command("mfssettrashtime", "0", s.mount[0]); err != nil { // otherwise removed files keep their space for a day, and writes wait for space
		return nil, err
	}
	s.kill = func(t *testing.T, n int) {
		if err := now[n].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = now[n].Wait() // it was killed
	}
	s.revive = func(t *testing.T, n int) {
		if now[n], err = chunk[n](); err != nil {
			t.Fatal(err)
		}
	}
	return s, nil
}

// folder makes a directory that both mounts have, for one test.
func (s *system) folder(t *testing.T) (d [2]string) {
	t.Helper()
	name := strings.NewReplacer("/", "-").Replace(t.Name())
	if err := os.Mkdir(filepath.Join(s.mount[0], name), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range d {
		d[i] = filepath.Join(s.mount[i], name)
		var st unix.Stat_t
		if err := until(func() error { return unix.Stat(d[i], &st) }); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// variable is the name of a mount in a shell.
func (s *system) variable(client int) string {
	return fmt.Sprintf("%s%d", strings.ReplaceAll(s.name, "-", "_"), client)
}
