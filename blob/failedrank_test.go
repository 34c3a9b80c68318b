package blob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"blobio/comm"
	"blobio/internal/crashtest"
	"blobio/internal/vfs"
)

var rankInText = regexp.MustCompile(`\brank (\d+)`)

// TestFailedRank: one operation of one rank fails, wherever in a session that commits. The error of every rank names that one, and no other, and
// is of the kind that it met.
func TestFailedRank(t *testing.T) {
	kinds := []error{vfs.ErrNoSpace, fs.ErrPermission, io.ErrUnexpectedEOF, ErrTooLarge, errDisk}
	for _, sc := range crashtest.Some(t, 2, sessionCases()) {
		if !sc.apart || sc.ranks < 3 { // in a common heap one rank works for others
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			m := sc.model(3)
			var told most
			// session has operation n of one rank fail, none if it is below 0, and returns the operations of that rank.
			session := func(who, n int, kind error) (ops []vfs.Op, errs []error) {
				mem, fails := vfs.NewMem(), crashtest.Fails(kind)
				var mu sync.Mutex
				faulty := vfs.NewFault(mem, func(op vfs.Op) error {
					mu.Lock()
					defer mu.Unlock()
					if ops = append(ops, op); len(ops)-1 != n {
						return nil
					}
					return fails.Hook(op)
				})
				errs, _ = eachRank(m.ranks, func(ctx context.Context, c comm.Comm) error {
					var fsys vfs.FS = mem
					if c.Rank() == who {
						fsys = faulty
					}
					o := sc.with(fsys, false)
					if o.Records > 0 {
						o.Records = m.records
					}
					return sc.writeCommits(ctx, c, m, o, false, told.tell)
				})
				return ops, errs
			}
			for who := range m.ranks {
				whole, errs := session(who, -1, nil)
				must(errors.Join(errs...))
				for n := range whole {
					if n%times(3, 1) != 0 && whole[n].Kind != vfs.OpSync {
						continue
					}
					kind := kinds[n%len(kinds)]
					ops, errs := session(who, n, kind)
					if len(ops) <= n || errors.Join(errs...) == nil && mayIgnore(ops[n]) {
						continue
					}
					op := ops[n]
					for r, err := range errs {
						re, named := (*comm.RankError)(nil), false
						if err != nil {
							named = true
							for _, x := range rankInText.FindAllStringSubmatch(err.Error(), -1) {
								named = named && x[1] == strconv.Itoa(who)
							}
						}
						if !named || !tells(err, kind) || !errors.As(err, &re) || re.Rank != who {
							t.Errorf("%v of rank %d fails with %q: rank %d has %v", op, who, kind, r, err)
						}
					}
				}
			}
		})
	}
}
