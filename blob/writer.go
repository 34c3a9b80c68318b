package blob

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"context"
)

// A Writer is one rank's handle on a dataset that is being written. Its
// methods and Put are called by that rank's goroutine only.
type Writer struct{ w *write.Writer }

func (w *Writer) inner() *write.Writer {
	if w == nil {
		return nil
	}
	return w.w
}

// An UnfinishedError is met after the commit: the new dataset is the one that is read, but files have not
// got their final names yet, or the old ones are still there. Recover, or the next writer, does what is left.
type UnfinishedError = dataset.UnfinishedError

// An InDoubtError is met while the commit is made: the ranks no longer hear each other, or there is a second error
// while the commit is taken back. Only a look at the files shows which dataset is in force. No file is removed.
type InDoubtError = dataset.InDoubtError

// A HeldBackError is what Commit returns when it has held back records that ranks have put, because the first of them lacks something. The records
// before it are committed, and the writer goes on. All ranks get the same error.
type HeldBackError = write.HeldBackError

// A Part is what one rank owns of one decomposition: its requests, in the
// order in which it will put the elements. That an element is in it twice is ErrUsage, since two values for it are no data; with
// Options.Repeats the later one counts.
type Part = write.Part

// Append opens a committed dataset to add records, by as many ranks, and with what maps and
// grouping, as are given, whoever wrote it before. The schema is the one in the files if s is nil: Writer.Schema
// and Schema.VarID give the variables' ids, and a process-centric dataset's
// has record variables only. The first record to put is Writer.Records. The
// committed state stays readable, and is what is read, until Close. Collective.
//
// A variable-centric dataset grows in place if its last records were written by the same ranks with the same maps and grouping. Otherwise, and
// in the process-centric layout always, the records go to one
// more set of subfiles (ErrExist if another file has the name of one). Readers find all sets as one dataset, and Convert makes one of them. A dataset
// that another program wrote is taken over: it gets a manifest first.
//
// Variables that are new: s is what Reader.Extend has returned of this dataset, with dimensions and variables defined since, the same on all ranks.
// The records go to a further set of subfiles; in those before, the new variables read as fill values. A dimension that no new variable has is ErrUsage,
// before anything is touched; a session without records adds nothing.
func Append(ctx context.Context, c comm.Comm, name string, s *Schema, parts []Part, o *Options) (*Writer, error) {
	x, err := resume.Append(ctx, c, name, s.inner(), parts, (*dataset.Options)(o))
	if err != nil {
		return nil, err
	}
	return &Writer{x}, nil
}

// Put gives this rank's elements of one record of a decomposed variable, in
// map order; a variable that is not decomposed is given whole, by any rank, by some or by
// all. Those that give it between two flushes give the same bytes: two values are an error of the flush, which
// names both ranks; of later flushes the last one counts. rec is 0 for a
// fixed variable. T may differ from the type in the file; a value that does not
// fit it is an error that names the element, and nothing of this put is kept.
// Put is not collective.
//
// Put copies data, which may be used again at once. Options.Retain asks to lend them instead: then they
// must stay as they are for as long as it says.
//
// A copy that would exceed Options.Memory waits for a flush in the background. If none is under way Put fails with
// ErrTooLarge: nothing of it is kept, and the same Put is in order after a Flush. Where one process puts more than that
// between two flushes, lend, flush more often, or raise Options.Memory. In the process-centric layout Flush
// makes room only if Options.Records is set.
func Put[T Number](w *Writer, v VarID, rec int64, data []T) error {
	return write.Put(w.inner(), v, rec, data)
}

// PutAt gives elements of one record of a variable that is not decomposed:
// count[i] elements from start[i] on along each dimension but the record
// dimension, rows in canonical order. Otherwise it is like Put.
func PutAt[T Number](w *Writer, v VarID, rec int64, start, count []int64, data []T) error {
	return write.PutAt(w.inner(), v, rec, start, count, data)
}

// Create begins a dataset. Every rank of c calls it with the same name, schema and
// options, and its own parts; a decomposition without a part is empty on this
// rank. Subfiles are named name.0000 and so on. Nothing appears under a
// final name before Close. Collective.
func Create(ctx context.Context, c comm.Comm, name string, s *Schema, parts []Part, o *Options) (*Writer, error) {
	x, err := write.Create(ctx, c, name, s.inner(), parts, (*dataset.Options)(o))
	if err != nil {
		return nil, err
	}
	return &Writer{x}, nil
}

// FlushAsync begins to write everything that was put, and returns while that goes on in the background:
// the ranks may compute and put more. It needs no further call to come to its end. The data are in the file when Wait returns, or the
// next FlushAsync, Flush or Close. Each waits for the one before: at most one is under way.
//
// The copies of what is under way count against Options.Memory until they are written; a Put that would
// exceed it waits for that. Data that are lent (Options.Retain LendUntilFlush) stay lent until then: two sets of arrays, used in
// turn, are enough, and nothing is copied.
//
// An error that is met in the background is returned by the next of these calls, agreed by all
// ranks; the writer has failed then. When ctx is done the writing stops, so it must
// outlive the call. Abort stops it too.
//
// It writes with as many workers as Options.Workers says; fewer leave cores to ranks that compute.
//
// With Options.Durability other than DurableNone, large amounts are also synced in the background,
// which Close alone waits for; nothing is committed before Close.
//
// Ranks that share no heap (MPI) exchange small pieces inside of the call, since the background never
// communicates; what goes to an aggregator is kept there in a copy, under Options.Memory of its process: if
// that does not hold it, the call waits until there is room again. Collective.
func (w *Writer) FlushAsync(ctx context.Context) error { return w.w.FlushAsync(ctx) }

// Wait returns when what the last FlushAsync began is written, with its error: then it is as after Flush.
// Collective.
func (w *Writer) Wait(ctx context.Context) error { return w.w.Wait(ctx) }

// SetAtt gives a variable, or the dataset if v is -1, an attribute, or another value to one that it has, while it is written. The next Commit, or Close, commits
// it; of an append, the first Commit that has records, or Close without any. It is in the manifest: the headers of the files stay
// as they are, so that other programs do not see it before Convert. _FillValue and what the layout adds cannot be changed. The attributes of all sessions
// together have at most 256 MiB: more is ErrTooLarge. The same on all ranks. Collective.
func (w *Writer) SetAtt(ctx context.Context, v VarID, name string, value any) error {
	return w.w.SetAtt(ctx, v, name, value)
}

// Flush writes everything that was put, after what FlushAsync has under way; when it returns, data lent until
// Flush may be used again. A process-centric writer that does not know the
// number of records copies what was put instead, and writes it at Close.
// It may be called at any time, by all ranks, and again when there was no space, see Commit. A HeldBackError comes from a CommitAsync before. Collective.
func (w *Writer) Flush(ctx context.Context) error { return w.w.Flush(ctx) }

// Commit makes what was put so far the committed state, durable and whole as Close would make it, and the writer goes on. A reader that opens the
// dataset then, or whenever it does after the writer has died, finds it; one that is open keeps its state. It flushes first.
//
// Records are committed whole: those before the first that lacks something, or all with fill values, see
// Options.FillIncomplete. A record lacks what some rank has not put of a variable that has values: any rank has put it in this session, of this record or another,
// or the records before the session have something else of it than fill values. A variable without values is fill, as in netCDF. Committed says how many are committed. If records that were put are held back, Commit returns a
// HeldBackError, which names the first of them and what it lacks, after it has committed those before; the writer goes on as if
// there had been no error. Fixed variables are committed by the first Commit, which fills those that nobody has put. Committed
// values cannot be put again: a later put is ErrUsage.
//
// Variable-centric subfiles grow in place, and so do process-centric ones with Options.Records that are not compressed. Otherwise each Commit with new records
// writes a further set of subfiles, as an append does; Convert makes one of them. Until Close the dataset has a log beside the manifest,
// docs/format-manifest.md.
//
// After an error the writer has failed, and what was committed before is in force; after an InDoubtError, perhaps this commit, and after
// an UnfinishedError this one. But where only space was lacking (syscall.ENOSPC), all ranks can call Commit again when there is some, as often as it takes: everything
// that was put is kept, so what was lent stays lent. Close without that is the error again. That is so on a local file system, for what is not compressed and was not left to the background. Collective.
func (w *Writer) Commit(ctx context.Context) error { return w.w.Commit(ctx) }

// CommitAsync is Commit in the background: it begins to write what was put, as FlushAsync does, and returns. The commit is made by the next
// call that is collective (Wait, Flush, Commit, Close, each also in the background), since the background never
// communicates; its error is that call's, also a HeldBackError, with which the call has done its work. Values that were put before CommitAsync must not be put again. Collective.
func (w *Writer) CommitAsync(ctx context.Context) error { return w.w.CommitAsync(ctx) }

// Committed returns how many records are committed, before this session and by its commits.
func (w *Writer) Committed() int64 { return w.w.Committed() }

// Schema returns the schema of the dataset; after Append it is the one in the files.
func (w *Writer) Schema() *Schema { return &Schema{w.w.Job.Schema} }

// Records returns the number of records that this rank knows of: those
// committed before this session, and those put by this rank.
func (w *Writer) Records() int64 { return w.w.Puts.Records() }

// Count returns how many elements of decomposition d this rank owns: the
// length of the slice that Put wants.
func (w *Writer) Count(d DecompID) int64 { return w.w.Job.Count(d) }

// Copies returns how many bytes the ranks of this process keep in copies of what was put to this
// dataset, and how many they may: Options.Memory. Not collective.
func (w *Writer) Copies() (bytes, limit int64) { return w.w.Job.Copies() }

// Close writes what is left, fills what was never put with fill values, and
// commits the dataset. If it fails, or ctx is done, nothing appears under a final
// name. Collective.
func (w *Writer) Close(ctx context.Context) error { return w.w.Close(ctx) }

// Abort gives up: nothing of the dataset, or of what was appended, stays, but for what Commit has committed. It
// is not collective, and may be called after an error, by any rank.
func (w *Writer) Abort() { w.w.Abort() }
