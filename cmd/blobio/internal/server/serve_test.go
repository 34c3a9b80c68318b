package server_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/cli"
)

// childEnv makes this test program act as the command, in a process that a test can kill.
const childEnv = "BLOBIO_TEST_SERVE_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		args := append([]string{"serve", "--listen", "127.0.0.1:0"}, os.Args[1:]...)
		os.Exit(verbs.Run(context.Background(), &cli.Env{Stdout: os.Stdout, Stderr: os.Stderr, Args: append(args, dir)}))
	}
	os.Exit(m.Run())
}

var shownOn = regexp.MustCompile(`is shown on (http://\S+/) `)

// address waits for the line with the server's address.
func address(t *testing.T, out io.Reader) string {
	t.Helper()
	line, err := bufio.NewReader(out).ReadString('\n')
	m := shownOn.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("the first line is %q (%v)", line, err)
	}
	return m[1]
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	clitest.Check(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s (%v)\n%.300s", url, resp.Status, err, b)
	}
	return b
}

// TestServe checks that both layouts are served with the bytes of convert, and that an interrupt is a normal end.
func TestServe(t *testing.T) {
	dir, canon, _, _ := clitest.Toys(t)
	want := clitest.Read(t, canon)
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var log bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- verbs.Run(ctx, &cli.Env{Stdout: w, Stderr: &log, Args: []string{"serve", "--listen", "127.0.0.1:0", dir}})
		w.Close()
	}()
	base := address(t, r)
	for _, name := range []string{"v/toy.nc", "p/toy.h5", "toy.nc"} {
		if got := get(t, base+"files/"+name); !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes that differ from the %d of the file that was converted", name, len(got), len(want))
		}
	}
	if dds := string(get(t, base+"dap/p/toy.h5.dds")); !strings.Contains(dds, "Float32 T[time = 3][lev = 2][ncol = 6];") {
		t.Errorf("%s", dds)
	}
	cancel()
	if c := <-code; c != cli.Good {
		t.Errorf("exit code %d\n%s", c, log.String())
	}
	clitest.Holds(t, log.String(), " GET /files/v/toy.nc 200 ")
}

func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), name)
		clitest.Check(t, os.WriteFile(path, []byte(text), mode))
		clitest.Check(t, os.Chmod(path, mode))
		return path
	}
	const secret = "0123456789abcdef\n"
	clitest.Bad(t, cli.Failed, "give --token-file, or --public", "serve", "--listen", "0.0.0.0:0", dir)
	clitest.Bad(t, cli.Failed, "no such file", "serve", "--listen", "127.0.0.1:0", filepath.Join(dir, "nothing"))
	clitest.Bad(t, cli.Failed, "is not a directory", "serve", "--listen", "127.0.0.1:0", file("f", "", 0o600))
	clitest.Bad(t, cli.Failed, "want at least 16", "serve", "--token-file", file("t", "short\n", 0o600), dir)
	clitest.Bad(t, cli.Failed, "the first line has 0 characters", "serve", "--token-file", file("t", "\n"+secret, 0o600), dir)
	clitest.Bad(t, cli.Failed, "is not a file", "serve", "--token-file", dir, dir)
	clitest.Bad(t, cli.Failed, "--memory", "serve", "--memory", "1M", dir)
	clitest.Bad(t, cli.Failed, "origin", "serve", "--cors", "example.org", dir)
	if runtime.GOOS != "windows" {
		clitest.Bad(t, cli.Failed, "is readable by everybody (mode 0644)", "serve", "--token-file", file("t", secret, 0o644), dir)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	clitest.Check(t, err)
	defer l.Close()
	clitest.Bad(t, cli.Failed, "--listen 127.0.0.1:0 selects a free port", "serve", "--listen", l.Addr().String(), dir)
}

// child returns a server as a separate process.
func child(dir string, flags ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], flags...)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	return cmd
}

// begun starts the server and returns its address.
func begun(t *testing.T, cmd *exec.Cmd) (base string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	clitest.Check(t, err)
	clitest.Check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return address(t, out)
}

// TestNobodyReads checks that a server works if nobody reads its stderr pipe, or nobody can read it any more.
func TestNobodyReads(t *testing.T) {
	dir := t.TempDir()
	clitest.Toy(t, dir)
	for _, c := range []struct {
		stderr   func() *os.File
		requests int
	}{{func() *os.File { return clitest.Deaf(t) }, 3000}, {func() *os.File {
		r, w, err := os.Pipe()
		clitest.Check(t, err)
		r.Close()
		return w
	}, 30}} {
		cmd := child(dir)
		stderr := c.stderr()
		cmd.Stderr = stderr
		base := begun(t, cmd)
		stderr.Close()
		for range c.requests {
			get(t, base+"dap/toy.nc.ver")
		}
	}
}

// TestFewFiles checks datasets with more subfiles than the limit of open files, each requested twice.
func TestFewFiles(t *testing.T) {
	dir := t.TempDir()
	var want []byte
	names := []string{"0.nc", "1.nc", "2.nc"}
	for i, name := range names {
		canon := clitest.Many(t, []string{"variable-centric", "process-centric"}[i%2], 400, filepath.Join(dir, name))
		b, err := os.ReadFile(canon)
		clitest.Check(t, err)
		want = b
	}
	for _, limit := range []int{64, 256, 1024} {
		base := begun(t, clitest.Limited(t, child(dir, "--log", "none"), limit))
		for range 2 {
			for _, name := range names {
				if got := get(t, base+"files/"+name); !bytes.Equal(got, want) {
					t.Errorf("%d files, %s: %d bytes that differ from the %d of the file that was converted", limit, name, len(got), len(want))
				}
			}
		}
	}
}

// TestServeKilled checks that a killed server leaves nothing behind, not even the port, and blocks no writer.
func TestServeKilled(t *testing.T) {
	dir, _, variable, _ := clitest.Toys(t)
	before := names(t, dir)
	cmd := child(dir, "--log", "none")
	base := begun(t, cmd)
	get(t, base+"files/v/toy.nc")
	get(t, base+"dap/p/toy.h5.dods?T")
	clitest.Check(t, cmd.Process.Kill())
	_ = cmd.Wait() // reports the kill
	if after := names(t, dir); after != before {
		t.Errorf("there is\n%s\nthere was\n%s", after, before)
	}
	addr := strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/")
	var (
		l   net.Listener
		err error
	)
	for end := time.Now().Add(time.Minute); l == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		l, err = net.Listen("tcp", addr)
	}
	clitest.Check(t, err)
	l.Close()
	clitest.Good(t, "check", variable)
	clitest.Good(t, "convert", "--no-sync", "--force", "--to", "variable-centric", "--ranks", "2", filepath.Join(dir, "toy.nc"), variable)
}

// names lists all files below a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	clitest.Check(t, filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		b.WriteString(p + "\n")
		return err
	}))
	return b.String()
}
