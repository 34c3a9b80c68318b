package durable

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/launcher"
	"blobio/internal/base/vfs"
)

// A Holder is the content of a lease's file: one line of JSON that describes the holder.
type Holder struct {
	ID    string    `json:"id"`   // 32 random hexadecimal digits
	Host  string    `json:"host"` // name of the machine
	Boot  string    `json:"boot,omitempty"`
	PID   int       `json:"pid"`
	Proc  string    `json:"proc,omitempty"` // namespace of PID and start time of the process, because a later process may have the same number
	User  string    `json:"user,omitempty"`
	Job   string    `json:"job,omitempty"` // job number in the batch system
	Since time.Time `json:"since"`         // start time by the clock of Host
	Beat  int64     `json:"beat"`          // number of heartbeats
	// Period in milliseconds: at least one heartbeat comes in each period. 0: no heartbeats.
	Period int64 `json:"period_ms,omitempty"`
	// Unsure means that the previous holder may be alive and that Settle has not been called since.
	Unsure bool `json:"unsure,omitempty"`
}

// String returns "HOST, process PID, since TIME, user USER, job JOB". It omits an unknown user or job.
func (h *Holder) String() string {
	if h == nil || h.ID == "" {
		return "an unknown writer"
	}
	who := fmt.Sprintf("%s, process %d, since %s", plain(h.Host), h.PID, h.Since.Local().Format(time.DateTime))
	if h.User != "" {
		who += ", user " + plain(h.User)
	}
	if h.Job != "" {
		who += ", job " + plain(h.Job)
	}
	return who
}

// plain makes text of another program safe to print.
func plain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// An InUseError means that another process holds a lease. It wraps fault.ErrInUse.
type InUseError struct {
	Name   string // the name of the lease
	Holder *Holder
	Lost   bool // this process had the lease, and Holder has taken the lease over
	Ended  bool // with Lost: the lease has no holder now; a next holder may have released it
}

// Error implements error.
func (e *InUseError) Error() string {
	if e.Ended {
		return e.Name + ": the writer's lease has ended, because its process released it or another writer has taken over; nothing more is committed"
	}
	if e.Lost {
		by := "another writer has taken over"
		if e.Holder != nil {
			by = "writing was taken over by " + e.Holder.String()
		}
		return e.Name + ": " + by + "; no data of this writer are committed"
	}
	return e.Name + ": in use by " + e.Holder.String()
}

// Unwrap returns fault.ErrInUse.
func (e *InUseError) Unwrap() error { return fault.ErrInUse }

// LockName returns the name of the lease file of name. It is hidden.
func LockName(name string) string {
	dir, base := filepath.Split(name)
	return dir + "." + base + lockSuffix
}

const lockSuffix = ".lock"

// LockOf is the reverse of LockName, for names without a directory.
func LockOf(file string) (name string, ok bool) {
	name, ok = strings.CutSuffix(file, lockSuffix)
	if !ok || len(name) < 2 || name[0] != '.' {
		return "", false
	}
	return name[1:], true
}

// ended reports whether the holder is dead. The caller, whose holder is me, has locked the holder's file. local means that the
// file system belongs to one machine, so a living holder would have kept the lock. On other file systems, locks may not even
// reach another mount of this machine, so the process must be gone, too.
func (h *Holder) ended(me *Holder, local bool) bool {
	if local {
		return !h.elsewhere(me)
	}
	if h == nil || h.Boot == "" || h.Boot != me.Boot || h.Host != me.Host {
		return false
	}
	if space, _, ok := strings.Cut(h.Proc, "."); ok && !strings.HasPrefix(me.Proc, space+".") { // PID is a process number of another namespace
		return false
	}
	if h.PID == me.PID { // the holder is this process, or a former process with the same number
		_, lives := living.Load(h.ID)
		return !lives
	}
	return gonePID(h.PID)
}

// living has the IDs of the leases that this process holds or is acquiring.
var living sync.Map

// gonePID reports whether no process of this machine has that number. It returns false if the system cannot tell.
func gonePID(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// elsewhere reports whether the holder's record comes from another machine. A local file system may be exported, and locks of its
// clients do not conflict with locks of its own machine.
func (h *Holder) elsewhere(me *Holder) bool {
	return h != nil && h.Host != me.Host && (h.Boot == "" || h.Boot != me.Boot)
}

const maxHolder = 4096

// NewID returns 32 random hexadecimal digits.
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// me returns a new holder for this process.
func me() Holder {
	host, boot := thisMachine()
	return Holder{ID: NewID(), Host: host, Boot: boot, PID: os.Getpid(), Proc: procOf(os.Getpid()), User: thisUser(), Job: launcher.Job(),
		Since: time.Now().UTC().Truncate(time.Second)}
}

// thisMachine returns this machine's name and the ID of its boot. A reboot releases all locks.
var thisMachine = sync.OnceValues(func() (host, boot string) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host, vfs.BootID()
})

// thisUser returns the name of this process's user, or the user's number.
var thisUser = sync.OnceValue(func() string {
	u, err := user.Current()
	switch {
	case err != nil:
		return ""
	case u.Username != "":
		return u.Username[:min(len(u.Username), maxName)]
	}
	return u.Uid
})

// maxName limits the length of a name in a lease file.
const maxName = 256

func (h *Holder) encode() []byte {
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // no field can fail
	}
	return append(b, '\n')
}

// decodeHolder returns nil if b is no holder: empty, torn or from another program.
func decodeHolder(b []byte) *Holder {
	h := new(Holder)
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(h); err != nil || h.ID == "" {
		return nil
	}
	return h
}

// readHolder returns the holder in the file and the file's content.
func readHolder(f vfs.File) (*Holder, []byte, error) {
	b := make([]byte, maxHolder)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) { // a shorter file is being written
		return nil, nil, err
	}
	return decodeHolder(b[:n]), b[:n], nil
}

// holderOf reads the lease file of that name. It returns nil if the file is missing.
func holderOf(fsys vfs.FS, lock string) (*Holder, []byte, error) {
	f, err := vfs.OpenOwn(fsys, lock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	h, b, err := readHolder(f)
	if cerr := f.Close(); gone(err) || err == nil && gone(cerr) {
		return nil, nil, nil
	} else if err == nil {
		err = cerr
	}
	return h, b, err
}

// HolderState is the known state of the holder of a lease.
type HolderState uint8

// The states.
const (
	NoHolder     HolderState = iota // the lease has no holder
	HolderHere                      // a living process holds the lease
	HolderDead                      // the holder died without releasing the lease
	HolderUnsure                    // the holder is on another machine, and may be alive
)

// Inspect returns the holder of the lease of name and its state. It changes nothing.
func Inspect(fsys vfs.FS, name string) (*Holder, HolderState, error) {
	f, err := vfs.OpenOwn(fsys, LockName(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, NoHolder, nil
	}
	if err != nil {
		return nil, NoHolder, err
	}
	defer f.Close()
	h, _, err := readHolder(f)
	if gone(err) {
		return nil, NoHolder, nil
	}
	if err != nil {
		return nil, NoHolder, err
	}
	switch err := vfs.Lock(f, true); {
	case gone(err):
		return nil, NoHolder, nil
	case errors.Is(err, vfs.ErrLocked):
		return h, HolderHere, nil
	case err == nil:
		if here := me(); h.ended(&here, fsys.Local(name)) {
			return h, HolderDead, nil
		}
	}
	return h, HolderUnsure, nil
}
