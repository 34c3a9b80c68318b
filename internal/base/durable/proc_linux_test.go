package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestProcOfElsewhere: if /proc shows another namespace, none of its entries is used for a process of this namespace.
// Otherwise the first process of a namespace would seem to live as long as the machine.
func TestProcOfElsewhere(t *testing.T) {
	const env = "BLOBIO_TEST_PROC"
	if os.Getenv(env) != "" {
		fmt.Printf("%d %q %q\n", os.Getpid(), procSpace(), procOf(os.Getpid()))
		os.Exit(0)
	}
	if space := procSpace(); space == "" || !strings.HasPrefix(procOf(os.Getpid()), space+".") {
		t.Fatalf("here: %q, %q", space, procOf(os.Getpid()))
	}
	child := exec.Command(os.Args[0], "-test.run=^TestProcOfElsewhere$")
	child.Env = append(os.Environ(), env+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	out, err := child.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	}
	if string(out) != "1 \"\" \"\"\n" || err != nil {
		t.Errorf("in a namespace without a /proc of its own: %s, %v", out, err)
	}
}
