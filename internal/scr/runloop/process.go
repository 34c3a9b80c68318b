package runloop

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"
)

// process is a process that the loop started. It leads its own process group.
type process struct {
	cmd  *exec.Cmd
	rank int // -1 stands for a launcher
	node string
	name string // prefix of messages about the process

	mu   sync.Mutex
	gone bool // the process has been reaped, and its id may belong to another process
}

// heldTime is the maximum time to wait for the end of the output after a process has ended. The wait is limited because other
// processes that it left may hold the output open. The time is long enough to read the process's own output on a busy machine.
const heldTime = 2 * time.Second

func (p *process) start() error {
	ownGroup(p.cmd)
	p.cmd.WaitDelay = heldTime
	return p.cmd.Start()
}

// end sends a signal to the process group, unless the process has been reaped.
func (p *process) end(hard bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		endGroup(p.cmd.Process, hard)
	}
}

// wait waits until the process ends, and then kills the rest of its group. It returns the exit code and a description.
func (p *process) wait() (int, string) {
	var err error
	if awaitExit(p.cmd.Process) { // the process has ended, but is not reaped, so that no other process can get its id
		p.mu.Lock()
		endGroup(p.cmd.Process, true)
		err = p.cmd.Wait()
	} else {
		err = p.cmd.Wait()
		p.mu.Lock()
	}
	p.gone = true
	p.mu.Unlock()
	var x *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return 0, ""
	case errors.As(err, &x):
		if sig := signalOf(x.ProcessState); sig > 0 {
			return 128 + sig, x.ProcessState.String()
		}
		return max(x.ExitCode(), 1), fmt.Sprintf("exit code %d", x.ExitCode())
	}
	return 1, err.Error()
}
