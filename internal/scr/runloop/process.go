package runloop

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"
)

// process is one that was started here, the leader of its own process group.
type process struct {
	cmd  *exec.Cmd
	rank int // -1: of a launcher
	node string
	name string // begins the messages about it

	mu   sync.Mutex
	gone bool // reaped: its id may be another process's
}

// heldTime is how long to wait for the end of the output of a process that has ended: processes that it leaves behind may hold it open.
// It is long enough to read the process's own output on a busy machine.
const heldTime = 2 * time.Second

func (p *process) start() error {
	ownGroup(p.cmd)
	p.cmd.WaitDelay = heldTime
	return p.cmd.Start()
}

// end sends a signal to its group, as long as its id is its own.
func (p *process) end(hard bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		endGroup(p.cmd.Process, hard)
	}
}

// wait waits for its end, and ends the rest of its group. It returns the exit code and a word for it.
func (p *process) wait() (int, string) {
	var err error
	if awaitExit(p.cmd.Process) { // it is over, but its id is still kept
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
