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

// Life is the state of a lease's holder, as far as a reader knows it.
type Life uint8

// The lives.
const (
	NoLife Life = iota // the lease has no holder
	Alive
	Dead   // the holder ended or fell silent without releasing the lease
	Unsure // not known yet
)

// A Pulse shows readers whether the holder of a lease is alive. It changes nothing. It does not compare clocks of different
// machines: the reader measures the time between heartbeats with its own clock.
//
// If the holder is a process of this machine whose number is valid here, the process is looked up. On a file system of one
// machine, the lock shows whether the holder is alive. On other file systems, the holder is dead after five missed beats, which
// takes less than twice its period. Until the first beat the state is Unsure, unless the lock is visible. A holder that promises
// no heartbeats is never called dead because of silence.
type Pulse struct {
	fsys vfs.FS
	name string
	now  func() time.Time

	holder *Holder // content at the last read
	raw    []byte
	since  time.Time // time at which raw was first read
	beats  bool      // this holder has been seen to beat
	local  func() bool
	probed string // ID of the holder whose lock was tried
	locked bool   // the holder had the lock
}

// NewPulse watches the lease of name. now is the clock; nil means the clock of the system.
func NewPulse(fsys vfs.FS, name string, now func() time.Time) *Pulse {
	p := &Pulse{fsys: vfs.OrOS(fsys), name: name, now: now}
	p.local = sync.OnceValue(func() bool { return p.fsys.Local(name) })
	if now == nil {
		p.now = time.Now
	}
	return p
}

// Look reads the lease. The holder is nil if it is missing or unreadable.
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
	if h == nil { // being written, or not yet written
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

// Next returns the time after which another call of Look can give a new result.
func (p *Pulse) Next() time.Duration {
	const least, most = 2 * time.Millisecond, time.Second / 4 // least limits the polling for any period in a file; the shortest allowed period needs 2.5 ms
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
	if p.probed != h.ID { // try only once: a server may keep the lock of a dead client, and such a lock does not show that the holder is alive
		_, state, err := Inspect(p.fsys, p.name)
		p.probed, p.locked = h.ID, err == nil && state == HolderHere
	}
	if p.locked {
		return Alive, nil
	}
	return Unsure, nil
}

// byLock returns the Life according to the lease's lock.
func (p *Pulse) byLock() (Life, error) {
	_, state, err := Inspect(p.fsys, p.name)
	switch {
	case errors.Is(err, fs.ErrPermission): // the file cannot be locked
		return Unsure, nil
	case err != nil:
		return Unsure, err
	}
	return map[HolderState]Life{NoHolder: NoLife, HolderHere: Alive, HolderDead: Dead, HolderUnsure: Unsure}[state], nil
}

// unnamed returns the Life for a lease file without a holder. A power cut leaves such a file if it was not synced. A process that
// has just created the file locks it at once, so unnamed looks twice at a new file.
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

// fresh reports whether the lease file on this machine may be new.
func (p *Pulse) fresh() bool {
	info, err := p.fsys.Stat(LockName(p.name))
	if err != nil {
		return true
	}
	age := time.Since(info.ModTime())
	return age < time.Second && age > -time.Second // after the clock was set back, the age of an old file may be negative
}

// process returns the Life of the holder's process, if this process can look it up.
func (h *Holder) process(here *Holder) Life {
	space, _, ok := strings.Cut(h.Proc, ".")
	if !ok || space == "" || h.Boot == "" || h.Boot != here.Boot || space != procSpace() {
		return Unsure
	}
	if h.PID == here.PID && h.Proc == here.Proc { // a process that reads its own file may have lost the lease
		return Unsure
	}
	switch procOf(h.PID) {
	case h.Proc:
		return Alive
	case "": // the process is gone, or the system hides it because it belongs to another user
		if gonePID(h.PID) {
			return Dead
		}
		return Unsure
	}
	return Dead // another process has the holder's process number now
}

// noProc differs from every Holder.Proc.
const noProc = "-"

// period returns Period as a duration, at most MaxPeriod.
func (h *Holder) period() time.Duration {
	if h == nil || h.Period <= 0 {
		return 0
	}
	return time.Duration(min(h.Period, int64(MaxPeriod/time.Millisecond))) * time.Millisecond
}

// silence is the time without a beat after which the holder is dead. Even with the delay until the next Look, this is less than
// two periods.
func (h *Holder) silence() time.Duration { return h.period() * 5 / beats }
