package parfs

import (
	"os"
	"os/exec"
	"testing"
)

// TestCommand runs the command of BLOBIO_PARFS_RUN in a shell, with the mounts: $gluster_distribute0, $gluster_distribute1, ..., $moose1.
func TestCommand(t *testing.T) {
	line := os.Getenv("BLOBIO_PARFS_RUN")
	if line == "" {
		t.Skip("set BLOBIO_PARFS_RUN to run something on the file systems")
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = os.Environ()
	for _, s := range systems(t) {
		for i, m := range s.mount {
			cmd.Env = append(cmd.Env, s.variable(i)+"="+m)
		}
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	must(t, cmd.Run())
}
