package durable

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"blobio/internal/base/vfs"
)

// Life says how much a reader knows of the holder of a lease.
type Life uint8

// The lives.
const (
	NoLife Life = iota // nobody holds the lease
	Alive
	Dead   // its holder ended, or fell silent, without giving it back
	Unsure // not known yet
)

// A Pulse watches whether the holder of a lease is alive, for readers. It changes nothing, and compares no clocks: the holder is alive if the
// heartbeat changes, by the reader's own clock.
//
// A process of this machine is asked for, if its number means the same process here. On a file system of one machine its lock decides. Anywhere else
// the holder is dead when five of its beats have failed to come, within twice its period of the last one; until then the first look at it is
// Unsure, unless its lock can be seen. A holder that promised no heartbeat is never dead by being silent.
type Pulse struct {
	fsys vfs.FS
	name string
	now  func() time.Time

	holder *Holder // as it was read last
	raw    []byte
	since  time.Time // when raw was read first
	beats  bool      // this holder has been seen to change it
	local  func() bool
	probed string // the holder whose lock was tried
	locked bool   // it had it
}

// NewPulse watches the lease of name. now is the clock, nil: the system's.
func NewPulse(fsys vfs.FS, name string, now func() time.Time) *Pulse {
	p := &Pulse{fsys: vfs.OrOS(fsys), name: name, now: now}
	p.local = sync.OnceValue(func() bool { return p.fsys.Local(name) })
	if now == nil {
		p.now = time.Now
	}
	return p
}

// Look reads the lease. The holder is nil if there is none, or it cannot be read.
func (p *Pulse) Look() (*Holder, Life, error) {
	f, err := vfs.OpenOwn(p.fsys, LockName(p.name))
	if gone(err) {
		p.holder, p.raw, p.beats = nil, nil, false
		return nil, NoLife, nil
	}
	if err != nil {
		return nil, Unsure, err
	}
	h, raw, err := readHolder(f)
	if cerr := f.Close(); err == nil && !gone(cerr) {
		err = cerr
	}
	if gone(err) {
		p.holder, p.raw, p.beats = nil, nil, false
		return nil, NoLife, nil
	}
	if err != nil {
		return nil, Unsure, err
	}
	now := p.now()
	if h == nil { // cut short while it is written, or not written yet
		h = p.holder
	}
	switch same := p.holder != nil && h != nil && p.holder.ID == h.ID; {
	case !same:
		p.since, p.beats = now, false
	case !bytes.Equal(raw, p.raw):
		p.since, p.beats = now, true
	}
	p.holder, p.raw = h, raw
	life, err := p.life(h, now)
	return h, life, err
}

// Next is how long to wait before another look can tell more.
func (p *Pulse) Next() time.Duration {
	const least, most = 2 * time.Millisecond, time.Second / 4 // least: whatever period a file claims; the shortest one allowed asks for 2.5 ms
	if p.holder == nil || p.holder.Period <= 0 {
		return most
	}
	return min(most, max(p.holder.period()/(4*beats), least))
}

func (p *Pulse) life(h *Holder, now time.Time) (Life, error) {
	if h == nil {
		return p.unnamed()
	}
	here := me()
	if life := h.process(&here); life != Unsure {
		return life, nil
	}
	if h.Period == 0 || p.local() {
		if life, err := p.byLock(); err != nil || life != Unsure || h.Period == 0 {
			return life, err
		}
	}
	switch silent := now.Sub(p.since); {
	case silent >= h.silence():
		return Dead, nil
	case p.beats:
		return Alive, nil
	}
	if p.probed != h.ID { // once: a lock that a server keeps for a client that is dead must not keep its holder alive
		_, state, err := Inspect(p.fsys, p.name)
		p.probed, p.locked = h.ID, err == nil && state == HolderHere
	}
	if p.locked {
		return Alive, nil
	}
	return Unsure, nil
}

// byLock is life by the lock of the lease.
func (p *Pulse) byLock() (Life, error) {
	_, state, err := Inspect(p.fsys, p.name)
	switch {
	case errors.Is(err, fs.ErrPermission): // it cannot be locked
		return Unsure, nil
	case err != nil:
		return Unsure, err
	}
	return map[HolderState]Life{NoHolder: NoLife, HolderHere: Alive, HolderDead: Dead, HolderUnsure: Unsure}[state], nil
}

// unnamed is life where the file says nothing, as a power cut leaves one that was never synced. A process that has just made the file locks it at
// once: unnamed looks at a new file twice.
func (p *Pulse) unnamed() (Life, error) {
	if !p.local() {
		return Unsure, nil
	}
	life, err := p.byLock()
	if life == Dead && p.fresh() {
		time.Sleep(stalePause)
		life, err = p.byLock()
	}
	return life, err
}

// fresh reports whether the lease of this machine may have been made a moment ago.
func (p *Pulse) fresh() bool {
	info, err := p.fsys.Stat(LockName(p.name))
	if err != nil {
		return true
	}
	age := time.Since(info.ModTime())
	return age < time.Second && age > -time.Second // a clock that was set back does not make it young for ever
}

// process reports whether the holder's process lives, if it is one of those that this process can ask for.
func (h *Holder) process(here *Holder) Life {
	space, _, ok := strings.Cut(h.Proc, ".")
	if !ok || space == "" || h.Boot == "" || h.Boot != here.Boot || space != procSpace() {
		return Unsure
	}
	if h.PID == here.PID && h.Proc == here.Proc { // a process that reads what it writes can have lost it
		return Unsure
	}
	switch procOf(h.PID) {
	case h.Proc:
		return Alive
	case "": // gone, or another user's that the system hides
		if gonePID(h.PID) {
			return Dead
		}
		return Unsure
	}
	return Dead // its number is another process's by now
}

// noProc is no Holder.Proc.
const noProc = "-"

// period is Period as a duration that is believed.
func (h *Holder) period() time.Duration {
	if h == nil || h.Period <= 0 {
		return 0
	}
	return time.Duration(min(h.Period, int64(MaxPeriod/time.Millisecond))) * time.Millisecond
}

// silence is the time without a beat after which the holder is dead. With the time until that is noticed it is less than two periods.
func (h *Holder) silence() time.Duration { return h.period() * 5 / beats }
