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

// RestartOptions of Restart. nil means the defaults.
type RestartOptions struct {
	// Cut says which run of the curve each rank gets, with the words of Options.Cut; the default is the rule of the original.
	Cut string
	// Owner places blocks in another way: it returns the rank of each of Checkpoint.Blocks, and
	// gives the same answer on all ranks.
	Owner func(k *Checkpoint, ranks int) ([]int, error)
	OpenOptions
}

// Restorer is the application's side of a restart, one per rank. An error of
// any rank ends the restart on all ranks.
type Restorer interface {
	// Create makes the blocks of a level that this rank owns (none on some ranks). Level 0
	// stands for all levels from the coarsest to 0. The parents of blocks of a
	// level above 0 exist, on whatever rank: creating a child is what makes its parent no leaf.
	Create(ctx context.Context, level int, b []BlockInfo) error
	// Data takes the data of a block that was created.
	Data(ctx context.Context, b *amr.Block) error
	// LevelDone ends a level: on all ranks together, created blocks were created and ready blocks
	// have their data; both numbers agree with the block lists.
	LevelDone(ctx context.Context, level, created, ready int) error
}

// Plan places the blocks on ranks, by a word of Options.Cut: the rank of each of Blocks, and how even it is.
func (k *Checkpoint) Plan(ranks int, how string) ([]int, sfc.Quality) {
	ranks = max(ranks, 1)
	owner, w := ownersOf(k.blocks, ranks, how)
	order := make([]amr.Index, len(k.blocks))
	for i := range k.blocks {
		order[i] = k.blocks[i].Index
	}
	return owner, amr.Quality(k.tree, order, owner, ranks, w)
}

// ownersOf returns the rank of each block, and the weights of blocks for the cut.
func ownersOf(blocks []BlockInfo, ranks int, how string) (owner []int, w []float64) {
	starts, w := startsOf(how, len(blocks), ranks, func(i int) (bytes, cost float64) { return float64(blocks[i].Bytes), blocks[i].Cost })
	return sfc.Owners(starts), w
}

// Restart reads a checkpoint into an application on any number of ranks, in the phases of the
// original:
//
//	startup   the files are divided among the ranks, which read lists and headers
//	level 0   the blocks up to level 0 are created, then get their data
//	level k   the blocks of level k are created, then get their data; k = 1, 2, ...
//	cleanup   files are closed
//
// At the end of each half of a phase the ranks that read a file count the answers for its
// blocks, and rank 0 the files, as the original does: a wrong count is ErrProtocol. Each
// rank reads the data of its own blocks, one block at a time. It is collective.
//
// Missing blocks, on which a restart of the original hangs, crashes or goes wrong, are an error
// before anything is created: the tree must be whole. A dump is ErrDump. Data that are not those
// of the manifest, if there is one, are ErrChecksum, see OpenOptions.NoVerify; no Restorer gets them.
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
	err = k.restartable()
	if err == nil {
		if o.Owner != nil {
			s.owner, err = o.Owner(k, c.Size())
		} else if err = checkCut(o.Cut); err == nil {
			s.owner, _ = ownersOf(k.blocks, c.Size(), o.Cut)
		}
	}
	if err == nil && len(s.owner) != len(k.blocks) {
		err = fault.Usage("RestartOptions.Owner has %d ranks, want %d, one for each block", len(s.owner), len(k.blocks))
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

// restartable says what keeps a checkpoint from being restarted from. Ranks that share it
// find out once.
func (k *Checkpoint) restartable() error {
	k.once.Do(func() { k.whole = findRestartable(k) })
	return k.whole
}

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

// restart is one rank's part of a Restart.
type restart struct {
	c     comm.Comm
	k     *Checkpoint
	r     Restorer
	owner []int
	mine  [][]int   // places of this rank's blocks, by level (0: all up to 0)
	files [][]int64 // by level and file: blocks by the lists
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

// level creates the blocks of a level, and gives them their data.
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
	at := -1 // its file
	for n, p := range mine {
		ahead := 0 // the blocks of a rank are a run of the curve, and so they are in a file
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

// acknowledge sends the number of blocks that are done, by file, to the
// readers of the files. Each reader counts up to what its lists say, then all count the
// readers' files: the original's sync_blocks_ and sync_restart_created_ or sync_restart_next_.
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

// count adds up what the ranks have finished, and compares.
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
