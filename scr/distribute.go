package scr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/zeebo/xxh3"

	"blobio/internal/fault"
	"blobio/internal/vfs"
	"blobio/kvtree"
	"blobio/scr/cachedir"
	"blobio/scr/record"
)

// ErrBroken: the communication of the ranks broke.
var ErrBroken = fault.ErrBroken

// distribute brings the files of each rank to the device where the rank is now. A device that has them may be one on
// which other ranks are now. All ranks make the same plan of moves, one file tree of a rank after the other, in rounds
// in which nobody takes part twice; a file gets its name when it is whole. The copies left behind are deleted (sweep)
// when the dataset is whole again.
func (s *Session) distribute(ctx context.Context, d *cachedSet) error {
	l := &s.levels[d.level]
	if err := s.step("distribute"); err != nil {
		return err
	}
	held, err := s.held(ctx, d, l)
	if err != nil {
		return err
	}
	ranks := 0
	for _, h := range held {
		for _, r := range h.ranks {
			ranks = max(ranks, r+1)
		}
		ranks = max(ranks, h.world)
	}
	if ranks == 0 {
		return fmt.Errorf("scr: dataset %s: %w: no node has a file of it", d.Dataset.Name, ErrMissing)
	}
	if ranks != s.c.Size() {
		return &ranksError{ranks, s.c.Size()}
	}
	if l.shared {
		return nil // all is where all are
	}
	moves := plan(held, l.devices)
	if err := collide(held, moves, l.devices); err != nil {
		return fmt.Errorf("scr: dataset %s: %w", d.Dataset.Name, err)
	}
	for _, round := range moves {
		err := s.moveRound(ctx, d, round)
		if err := s.agree(ctx, err); err != nil {
			return err
		}
	}
	d.held = held
	return s.step("distributed")
}

// holding is what a device has of a dataset.
type holding struct {
	device int
	ranks  []int      // of which it has files, ascending
	names  [][]uint64 // hashes of the names of their files, by position in ranks
	world  int        // ranks that wrote the dataset, as far as a redundancy file says; 0: not known
}

// held lists what each device has; the same on all ranks.
func (s *Session) held(ctx context.Context, d *cachedSet, l *level) ([]holding, error) {
	var mine []byte
	var err error
	if l.dc.Rank() == 0 {
		var names map[int][]string
		if names, err = ranksIn(s.fs, d.Path); err == nil {
			for r := range names {
				// Redundancy without the map: a restart died before it wrote the packed metadata of what it had moved here.
				// Where the ranks were before, all is still there.
				if _, serr := s.fs.Stat(cachedir.FilemapName(d.Path, r)); d.Packed && serr != nil {
					delete(names, r)
				}
			}
			mine = binary.BigEndian.AppendUint32(mine, uint32(s.worldOf(d.Path, names)))
			for _, r := range slices.Sorted(maps.Keys(names)) {
				files := s.userFiles(d.Path, r)
				mine = binary.BigEndian.AppendUint32(mine, uint32(r))
				mine = binary.BigEndian.AppendUint32(mine, uint32(len(files)))
				for _, n := range files {
					mine = binary.BigEndian.AppendUint64(mine, xxh3.HashString(n))
				}
			}
		}
	}
	if err := s.agree(ctx, err); err != nil {
		return nil, fmt.Errorf("scr: cache: %w", err)
	}
	parts, err := s.c.Allgather(ctx, mine)
	if err != nil {
		return nil, err
	}
	var out []holding
	for r, b := range parts {
		if len(b) == 0 {
			continue
		}
		h := holding{device: l.devices[r], world: int(binary.BigEndian.Uint32(b))}
		for b = b[4:]; len(b) >= 8; {
			h.ranks = append(h.ranks, int(binary.BigEndian.Uint32(b)))
			var names []uint64
			n := int(binary.BigEndian.Uint32(b[4:]))
			for b = b[8:]; n > 0 && len(b) >= 8; n-- {
				names = append(names, binary.BigEndian.Uint64(b))
				b = b[8:]
			}
			h.names = append(h.names, names)
		}
		out = append(out, h)
	}
	return out, nil
}

// collide finds moves by which files of two ranks would get one name. Ours have names of their own (apart), but the
// reference calls files by their base names, and ranks that were on different nodes may have the same ones.
func collide(held []holding, moves [][]move, devices []int) error {
	names := map[int][]uint64{} // of each rank, on the lowest device that has some: from there they are brought
	for _, h := range held {
		for j, r := range h.ranks {
			if _, ok := names[r]; !ok {
				names[r] = h.names[j]
			}
		}
	}
	type place struct {
		device int
		name   uint64
	}
	owner := map[place]int{}
	for _, h := range held {
		for j, r := range h.ranks {
			for _, n := range h.names[j] {
				owner[place{h.device, n}] = r
			}
		}
	}
	for _, round := range moves {
		for _, m := range round {
			for _, n := range names[m.rank] {
				at := place{devices[m.rank], n}
				if r, ok := owner[at]; ok && r != m.rank {
					return fmt.Errorf("%w: files of ranks %d and %d have one name in the cache, and the ranks are on one node now", ErrCorrupt, r, m.rank)
				}
				owner[at] = m.rank
			}
		}
	}
	return nil
}

// distinct is the same for what is going to be rebuilt: no two ranks of a device may have files of one name.
func (s *Session) distinct(ctx context.Context, d *cachedSet) error {
	var mine []byte
	for _, f := range d.maps.Files() {
		mine = binary.BigEndian.AppendUint64(mine, xxh3.HashString(f.Name))
	}
	all, err := s.levels[d.level].dc.Allgather(ctx, mine)
	if err != nil {
		return err
	}
	seen := map[uint64]bool{}
	for _, b := range all {
		for ; len(b) >= 8; b = b[8:] {
			n := binary.BigEndian.Uint64(b)
			if seen[n] {
				err = fmt.Errorf("scr: dataset %s: %w: files of ranks that are on one node now have one name in the cache", d.Dataset.Name, ErrCorrupt)
			}
			seen[n] = true
		}
	}
	return s.agree(ctx, err)
}

// ranksIn lists the files of the metadata folder of a dataset by the rank whose they are.
func ranksIn(fsys vfs.FS, dir string) (map[int][]string, error) {
	list, err := fsys.ReadDir(cachedir.MetaDir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[int][]string{}
	for _, e := range list {
		if r, ok := cachedir.RankOf(e.Name()); ok {
			out[r] = append(out[r], path.Join(cachedir.MetaDir(dir), e.Name()))
		}
	}
	return out, nil
}

// worldOf finds in the file maps how many ranks wrote a dataset; 0 if none says.
func (s *Session) worldOf(dir string, names map[int][]string) int {
	for r := range names {
		m, err := cachedir.ReadFilemap(s.fs, cachedir.FilemapName(dir, r))
		if err != nil {
			continue
		}
		for _, f := range m.Files() {
			if f.Meta.Ranks > 0 {
				return f.Meta.Ranks
			}
		}
	}
	return 0
}

// userFiles lists the files of the application that a device has of a rank: those in its file map and those in the
// list of the device, as far as they lie in the folder. A file that the list says is another rank's is not of this one,
// whatever its map says: names may be the same (see collide).
func (s *Session) userFiles(dir string, rank int) []string {
	list, err := cachedir.ReadShuffile(s.fs, dir, cachedir.DataGroup)
	if err != nil {
		list = nil
	}
	others := map[string]bool{}
	for r, names := range list {
		for _, n := range names {
			if r != rank {
				others[path.Clean(n)] = true
			}
		}
	}
	seen := map[string]bool{}
	var out []string
	add := func(name string) {
		name = path.Clean(name)
		if seen[name] || others[name] || !inFolder(dir, name) {
			return
		}
		seen[name] = true
		if _, err := s.fs.Stat(name); err == nil {
			out = append(out, name)
		}
	}
	if m, err := cachedir.ReadFilemap(s.fs, cachedir.FilemapName(dir, rank)); err == nil {
		for _, f := range m.Files() {
			add(f.Name)
		}
	}
	for _, n := range list[rank] {
		add(n)
	}
	return out
}

// inFolder says whether a name is below the folder of a dataset, and not of its metadata.
func inFolder(dir, name string) bool {
	return len(name) > len(dir)+1 && name[:len(dir)+1] == dir+"/" && path.Dir(name) != cachedir.MetaDir(dir)
}

// move brings the files of a rank from one process to that rank.
type move struct{ rank, from int }

// plan finds the moves: a rank whose device has none of its files gets them from the lowest device that has some. The
// processes of a device take turns in sending. devices is by rank; a device is the number of its first rank.
func plan(held []holding, devices []int) [][]move {
	has := map[int][]int{} // rank -> devices
	for _, h := range held {
		for _, r := range h.ranks {
			has[r] = append(has[r], h.device)
		}
	}
	members := map[int][]int{}
	for r, dev := range devices {
		members[dev] = append(members[dev], r)
	}
	var todo []move
	turn := map[int]int{}
	for r, dev := range devices {
		at := has[r]
		if len(at) == 0 || slices.Contains(at, dev) {
			continue
		}
		from := slices.Min(at)
		m := members[from]
		todo = append(todo, move{r, m[turn[from]%len(m)]})
		turn[from]++
	}
	var rounds [][]move
	for len(todo) > 0 {
		busy := map[int]bool{}
		var round, rest []move
		for _, m := range todo {
			if busy[m.rank] || busy[m.from] {
				rest = append(rest, m)
				continue
			}
			busy[m.rank], busy[m.from] = true, true
			round = append(round, m)
		}
		rounds, todo = append(rounds, round), rest
	}
	return rounds
}

const (
	tagList = 7001 + iota
	tagData
	tagAck
)

// movePiece is how much of a file goes in a message. Two are on their way at most.
const movePiece = 1 << 20

// moveRound does the moves of a round in which this rank takes part, in at most one of them. It must come to the same
// end on both sides of a move, so an error of a disk is sent to the other side.
func (s *Session) moveRound(ctx context.Context, d *cachedSet, round []move) error {
	for _, m := range round {
		switch s.c.Rank() {
		case m.from:
			return s.sendFiles(ctx, d, m.rank)
		case m.rank:
			return s.recvFiles(ctx, d, m.from)
		}
	}
	return nil
}

// sendFiles sends all that this device has of a rank. Files that cannot be read are left out: the other side rebuilds
// them as if they were lost.
func (s *Session) sendFiles(ctx context.Context, d *cachedSet, rank int) error {
	names, err := ranksIn(s.fs, d.Path)
	if err != nil {
		s.log.Warn("scr: cache", "err", err)
	}
	files := s.userFiles(d.Path, rank)
	files = append(files, names[rank]...)
	t := kvtree.New()
	var list []string
	var sizes []int64
	for _, n := range files {
		m, err := vfs.MetaOf(s.fs, n)
		if err != nil {
			s.log.Warn("scr: a cached file cannot be read", "file", n, "err", err)
			continue
		}
		t.SetAt(record.Meta{Size: m.Size, Stat: m, HasStat: true}.Tree(), strconv.Itoa(len(list)), n)
		list, sizes = append(list, n), append(sizes, m.Size)
	}
	b, bad := t.Pack()
	if bad != nil {
		b = nil // tells the other side, which waits for a list, that there is none
	}
	if err := s.c.Send(ctx, rank, tagList, b); err != nil {
		return err
	}
	// Nothing is sent before the other side has said that it can read the list.
	ok, err := s.c.Recv(ctx, rank, tagAck)
	if err != nil || bad != nil {
		return errors.Join(bad, err)
	}
	if len(ok) != 1 || ok[0] != 1 {
		return nil // it has the error
	}
	o := outbox{s: s, to: rank, buf: make([]byte, movePiece)}
	for i, name := range list {
		if err := o.file(ctx, name, sizes[i]); err != nil {
			return err
		}
	}
	for ; o.acked < o.sent; o.acked++ {
		if _, err := s.c.Recv(ctx, rank, tagAck); err != nil {
			return err
		}
	}
	return nil
}

// outbox sends files to a rank, one after the other: there may be more than a process may have open.
type outbox struct {
	s           *Session
	to          int
	buf         []byte
	sent, acked int // pieces
}

// file sends one file. Only errors of the communication are returned: of a file that cannot be read, or is shorter than
// it was, follows what is not data, and the wrong sum says so.
func (o *outbox) file(ctx context.Context, name string, size int64) error {
	f, bad := o.s.fs.Open(name)
	if bad == nil {
		defer f.Close()
	}
	crc := crc32.NewIEEE()
	for off := int64(0); off < size; {
		b := o.buf[:min(movePiece, size-off)]
		n := 0
		if bad == nil {
			if n, bad = f.ReadAt(b, off); n == len(b) {
				bad = nil
			} else if bad == nil || bad == io.EOF {
				bad = io.ErrUnexpectedEOF
			}
		}
		clear(b[n:])
		crc.Write(b)
		if err := o.s.c.Send(ctx, o.to, tagData, b); err != nil {
			return err
		}
		off += int64(len(b))
		for o.sent++; o.sent-o.acked > 2; o.acked++ {
			if _, err := o.s.c.Recv(ctx, o.to, tagAck); err != nil {
				return err
			}
		}
	}
	sum := crc.Sum32()
	if bad != nil {
		o.s.log.Warn("scr: a cached file cannot be read", "file", name, "err", bad)
		sum = ^sum
	}
	return o.s.c.Send(ctx, o.to, tagData, binary.BigEndian.AppendUint32(nil, sum))
}

// recvFiles receives the files of this rank. An error of the disk is returned when the sender has said everything.
func (s *Session) recvFiles(ctx context.Context, d *cachedSet, from int) error {
	b, err := s.c.Recv(ctx, from, tagList)
	if err != nil {
		return err
	}
	list, bad := parseList(b, d.Path)
	ok := []byte{1}
	if bad != nil {
		ok[0] = 0
	}
	if err := s.c.Send(ctx, from, tagAck, ok); err != nil || bad != nil {
		return errors.Join(bad, err)
	}
	var failed error
	for _, f := range list {
		if err := s.recvFile(ctx, from, f.Name, f.Meta, &failed); err != nil {
			return err
		}
	}
	return failed
}

// parseList reads which files come, all of them in the folder of a dataset.
func parseList(b []byte, dir string) ([]cachedir.MapFile, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("scr: cache: %w: the other side could not tell which files it has", ErrCorrupt)
	}
	t, err := kvtree.Unpack(b, nil)
	if err != nil {
		return nil, err
	}
	var list []cachedir.MapFile
	for i := range t.Len() {
		name, mt := t.Get(strconv.Itoa(i)).First()
		m, err := record.ParseMeta(mt, name)
		if err != nil {
			return nil, err
		}
		name = path.Clean(name)
		if !inFolder(dir, name) && path.Dir(name) != cachedir.MetaDir(dir) {
			return nil, fmt.Errorf("scr: %w: file %.200q is not in %s", ErrCorrupt, name, dir)
		}
		list = append(list, cachedir.MapFile{Name: name, Meta: m})
	}
	return list, nil
}

// recvFile receives one file and gives it its name when it is whole. Only errors of the communication are returned;
// those of the disk go to failed, and the rest of the file is received without being written.
func (s *Session) recvFile(ctx context.Context, from int, name string, m record.Meta, failed *error) error {
	tmp := path.Join(path.Dir(name), ".moving."+strconv.Itoa(s.c.Rank())+"."+path.Base(name))
	var f vfs.File
	fail := func(err error) {
		if err != nil && *failed == nil {
			*failed = fmt.Errorf("scr: cache: %w", err)
		}
	}
	if *failed == nil {
		if err := mkdirDurable(s.fs, path.Dir(name)); err != nil {
			fail(err)
		} else {
			_ = s.fs.Remove(tmp) // of a crashed run
			var err error
			f, err = s.fs.Create(tmp)
			fail(err)
		}
	}
	crc := crc32.NewIEEE()
	for off := int64(0); off < m.Size; off += movePiece { // the sender cuts it in the same way, whatever is in the pieces
		b, err := s.c.Recv(ctx, from, tagData)
		if err != nil {
			return err
		}
		if want := min(movePiece, m.Size-off); int64(len(b)) != want {
			fail(fmt.Errorf("%w: a piece of %d bytes at %d of %s, want %d", ErrCorrupt, len(b), off, name, want))
		}
		crc.Write(b)
		if *failed == nil {
			_, err := f.WriteAt(b, off)
			fail(err)
		}
		if err := s.c.Send(ctx, from, tagAck, nil); err != nil {
			return err
		}
	}
	sum, err := s.c.Recv(ctx, from, tagData)
	if err != nil {
		return err
	}
	if f == nil {
		return nil
	}
	good := len(sum) == 4 && binary.BigEndian.Uint32(sum) == crc.Sum32()
	if good && *failed == nil {
		fail(f.Sync())
	}
	fail(f.Close())
	if good && *failed == nil {
		if err := vfs.SetMeta(s.fs, tmp, m.Stat); err != nil {
			s.log.Warn("scr: metadata of a file", "file", name, "err", err)
		}
		if err := s.fs.Rename(tmp, name); err == nil {
			fail(vfs.SyncParent(s.fs, name))
			return nil
		} else {
			fail(err)
		}
	}
	_ = s.fs.Remove(tmp)
	return nil
}

// sweep deletes what a device had of ranks that are elsewhere now: each device keeps the files of its own ranks. The
// first rank of the device calls it.
func (s *Session) sweep(d *cachedSet, l *level) error {
	for _, h := range d.held {
		if h.device != l.device || l.dc.Rank() != 0 {
			continue
		}
		for _, r := range h.ranks {
			if r < len(l.devices) && l.devices[r] == l.device {
				continue
			}
			names, err := ranksIn(s.fs, d.Path)
			if err != nil {
				return err
			}
			for _, n := range append(s.userFiles(d.Path, r), names[r]...) {
				if err := s.fs.Remove(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
	}
	return nil
}
