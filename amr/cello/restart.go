package cello

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/amr/sfc"
	"blobio/internal/base/fault"
)

// RestartOptions are the options of Restart. A nil pointer means the defaults.
type RestartOptions struct {
	// Cut selects how the curve is cut into one part for each rank. It has the values of Options.Cut. The default is Enzo-E's
	// rule.
	Cut string
	// Owner, if not nil, distributes the blocks instead of Cut. It returns the rank of each block in Checkpoint.Blocks, and must
	// return the same on all ranks.
	Owner func(k *Checkpoint, ranks int) ([]int, error)
	OpenOptions
}

// Restorer is the application's side of a restart, one per rank. An error on any rank ends the restart on all ranks.
type Restorer interface {
	// Create makes those blocks of a level that this rank owns; b may be empty. Level 0 stands for all levels from the coarsest
	// to 0. For a level above 0 the parents exist already, perhaps on another rank. A parent is not a leaf after its child has
	// been created.
	Create(ctx context.Context, level int, b []BlockInfo) error
	// Data receives the data of a created block.
	Data(ctx context.Context, b *amr.Block) error
	// LevelDone ends a level. created is the number of blocks that all ranks created, and ready the number of blocks that have
	// their data. Both numbers agree with the block lists.
	LevelDone(ctx context.Context, level, created, ready int) error
}

// Plan distributes the blocks to ranks; how is a value of Options.Cut. It returns the rank of each block in Blocks, and the
// quality of the distribution.
func (k *Checkpoint) Plan(ranks int, how string) ([]int, sfc.Quality, error) {
	if err := checkCut(how); err != nil {
		return nil, sfc.Quality{}, err
	}
	ranks = max(ranks, 1)
	owner, w := ownersOf(k.blocks, ranks, how)
	order := make([]amr.Index, len(k.blocks))
	for i := range k.blocks {
		order[i] = k.blocks[i].Index
	}
	return owner, amr.Quality(k.tree, order, owner, ranks, w), nil
}

// ownersOf returns the rank of each block, and the block weights of the cut.
func ownersOf(blocks []BlockInfo, ranks int, how string) (owner []int, w []float64) {
	starts, w := startsOf(how, len(blocks), ranks, func(i int) (bytes, cost float64) { return float64(blocks[i].Bytes), blocks[i].Cost })
	return sfc.Owners(starts), w
}

// Restart reads a checkpoint into an application on any number of ranks, in the same phases as
// Enzo-E:
//
//	startup   the ranks divide the files and read lists and headers
//	level 0   the blocks up to level 0 are created, then get their data
//	level k   the blocks of level k are created, then get their data; k = 1, 2, ...
//	cleanup   files are closed
//
// Each phase of a level has two halves, creation and data. As in Enzo-E, at the end of each half the reader of a file counts the
// answers for the file's blocks, and rank 0 counts the files. A wrong count is an ErrProtocol error. Each rank reads the data of
// its own blocks, one block at a time. Restart is collective.
//
// If blocks are missing, Restart fails before it creates a block, because the tree must be complete. (Enzo-E hangs, crashes or
// runs wrong in this case.) For a dump, Restart returns ErrDump. For data that do not match the manifest, Restart returns
// ErrChecksum and does not pass them to a Restorer (see OpenOptions.NoVerify).
func Restart(ctx context.Context, c comm.Comm, dir string, r Restorer, o *RestartOptions) (err error) {
	if o == nil {
		o = &RestartOptions{}
	}
	k, err := OpenComm(ctx, c, dir, &o.OpenOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	s := &restart{c: c, k: k, r: r}
	files := int64(0)
	for f := range k.files {
		if readerOf(f, len(k.files), c.Size()) == c.Rank() {
			files++
		}
	}
	if err := s.count(ctx, "startup", files, int64(len(k.files)), nil); err != nil {
		return err
	}
	k.once.Do(func() { k.whole = findRestartable(k) }) // once for the ranks that share the checkpoint
	err = k.whole
	if err == nil {
		if o.Owner != nil {
			s.owner, err = o.Owner(k, c.Size())
		} else if err = checkCut(o.Cut); err == nil {
			s.owner, _ = ownersOf(k.blocks, c.Size(), o.Cut)
		}
	}
	if err == nil && len(s.owner) != len(k.blocks) {
		err = fault.Usage("RestartOptions.Owner returned %d ranks, want %d, one for each block", len(s.owner), len(k.blocks))
	}
	for i := 0; err == nil && i < len(s.owner); i++ {
		if p := s.owner[i]; p < 0 || p >= c.Size() {
			err = fault.Usage("block %s has owner %d, want a rank below %d", k.blocks[i].Name, p, c.Size())
		}
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return err
	}
	_, hi := k.tree.Levels()
	s.sort()
	for level := range hi + 1 {
		if err := s.level(ctx, level); err != nil {
			return err
		}
	}
	return c.Barrier(ctx)
}

// findRestartable returns the error that prevents a restart from a checkpoint.
func findRestartable(k *Checkpoint) error {
	if k.Dump() {
		return fmt.Errorf("%s: %w", k.dir, ErrDump)
	}
	if err := complete(k.tree); err != nil {
		return err
	}
	for i := range k.recs {
		if n := k.recs[i].count; n >= 0 && n != int64(len(k.blocks)) {
			return fault.At(k.path(k.blocks[i].File), -1, k.blocks[i].Name+" count_order", ErrCorrupt, "%d, the lists have %d blocks", n, len(k.blocks))
		}
	}
	return nil
}

type restart struct {
	c     comm.Comm
	k     *Checkpoint
	r     Restorer
	owner []int
	mine  [][]int   // indexes of this rank's blocks, by level (0: all up to 0)
	files [][]int64 // number of blocks in the lists, by level and file
}

func (s *restart) sort() {
	_, hi := s.k.tree.Levels()
	s.mine = make([][]int, hi+1)
	s.files = make([][]int64, hi+1)
	for l := range s.files {
		s.files[l] = make([]int64, len(s.k.files))
	}
	for i := range s.k.blocks {
		b := &s.k.blocks[i]
		l := max(b.Level, 0)
		s.files[l][b.File]++
		if s.owner[i] == s.c.Rank() {
			s.mine[l] = append(s.mine[l], i)
		}
	}
}

// level creates the blocks of a level and reads their data.
func (s *restart) level(ctx context.Context, level int) error {
	mine := s.mine[level]
	infos := make([]BlockInfo, len(mine))
	for i, p := range mine {
		infos[i] = s.k.blocks[p]
	}
	err := s.r.Create(ctx, level, infos)
	created := make([]int64, len(s.k.files))
	for i := range infos {
		created[infos[i].File]++
	}
	n, err := s.acknowledge(ctx, fmt.Sprintf("level %d, create", level), level, created, err)
	if err != nil {
		return err
	}
	ready := make([]int64, len(s.k.files))
	var win *window
	at := -1 // file of the window
	for n, p := range mine {
		ahead := 0 // the blocks of a rank are contiguous in the curve, and so within a file
		for n+ahead+1 < len(mine) && ahead < 8 && mine[n+ahead+1] == p+ahead+1 && s.k.blocks[p+ahead+1].File == s.k.blocks[p].File {
			ahead++
		}
		if f := s.k.blocks[p].File; f != at {
			win, at = s.k.window(f), f
		}
		var b *amr.Block
		if b, err = s.k.block(ctx, win, ahead, p); err == nil {
			err = s.r.Data(ctx, b)
		}
		if err != nil {
			break
		}
		ready[s.k.blocks[p].File]++
	}
	m, err := s.acknowledge(ctx, fmt.Sprintf("level %d, init", level), level, ready, err)
	if err != nil {
		return err
	}
	return comm.Agree(ctx, s.c, s.r.LevelDone(ctx, level, n, m))
}

// acknowledge sends the number of completed blocks of each file to the file's reader. Each reader compares the sum with its block
// list. Then all ranks count the files that are done. The two steps correspond to Enzo-E's counters sync_blocks_, and
// sync_restart_created_ or sync_restart_next_.
func (s *restart) acknowledge(ctx context.Context, phase string, level int, done []int64, err error) (int, error) {
	if err = comm.Agree(ctx, s.c, err); err != nil {
		return 0, err
	}
	out := make([][]byte, s.c.Size())
	for f, n := range done {
		if n > 0 {
			to := readerOf(f, len(done), s.c.Size())
			out[to] = binary.AppendVarint(binary.AppendUvarint(out[to], uint64(f)), n)
		}
	}
	in, err := s.c.Alltoallv(ctx, out)
	if err != nil {
		return 0, err
	}
	got := make([]int64, len(done))
	for _, b := range in {
		for len(b) > 0 {
			f, n := binary.Uvarint(b)
			v, w := binary.Varint(b[n:])
			b = b[n+w:]
			got[f] += v
		}
	}
	full, blocks := int64(0), int64(0)
	for f, n := range got {
		if readerOf(f, len(done), s.c.Size()) != s.c.Rank() {
			continue
		}
		blocks += n
		if n == s.files[level][f] {
			full++
		} else if err == nil {
			err = fmt.Errorf("%s: file %s has %d answers, want %d: %w", phase, s.k.files[f].name, n, s.files[level][f], ErrProtocol)
		}
	}
	if err := s.count(ctx, phase, full, int64(len(done)), err); err != nil {
		return 0, err
	}
	total, err := comm.AllreduceOne(ctx, s.c, blocks, comm.Sum)
	return int(total), err
}

// count sums the completed items of all ranks and compares the sum with want.
func (s *restart) count(ctx context.Context, phase string, have, want int64, err error) error {
	sum, cerr := comm.AllreduceOne(ctx, s.c, have, comm.Sum)
	if cerr != nil {
		return cerr
	}
	if err == nil && sum != want {
		err = fmt.Errorf("%s: only %d of %d files are done: %w", phase, sum, want, ErrProtocol)
	}
	return comm.Agree(ctx, s.c, err)
}
