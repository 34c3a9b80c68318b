package blob

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"context"
)

// A Writer is one rank's handle on a dataset that is being written. Only this rank's goroutine may call Put and the Writer's
// methods.
type Writer struct{ w *write.Writer }

func (w *Writer) inner() *write.Writer {
	if w == nil {
		return nil
	}
	return w.w
}

// An UnfinishedError is an error after the commit. Readers already see the new dataset, but some files lack their final names,
// or old files remain. Recover, or the next writer, finishes the work.
type UnfinishedError = dataset.UnfinishedError

// An InDoubtError is an error during the commit: the ranks have lost contact, or the commit could not be undone. Only the files
// show whether the old or the new dataset is in force. No file has been removed.
type InDoubtError = dataset.InDoubtError

// A HeldBackError is an error of Commit: a variable of a put record is incomplete. Commit has committed the records before this
// record, and the writer can go on. All ranks get the same error.
type HeldBackError = write.HeldBackError

// A Part is one rank's share of a decomposition: its requests, in the order of the elements in its puts. If an element occurs
// twice, the error is ErrUsage. With Options.Repeats the later value counts.
type Part = write.Part

// Append opens a committed dataset to add records. The number of ranks, the maps and the grouping may differ between
// writers. If s is nil, Append uses the schema in the files, and Writer.Schema and Schema.VarID give the ids of
// variables. For a process-centric dataset this schema has record variables only. The first record to put is Writer.Records.
// Until Close readers see the previously committed state. Collective.
//
// A variable-centric dataset grows in place if the same ranks wrote its last records with the same maps and grouping.
// Otherwise, and always in the process-centric layout, the records go to an additional set of subfiles. If another file already
// has the name of such a subfile, the error is ErrExist. Readers see all sets as one dataset, and Convert merges them. If
// another program wrote the dataset, Append first gives it a manifest.
//
// To add variables, take s from Reader.Extend of this dataset, and define the same dimensions and variables in it on all ranks.
// The records go to an additional set of subfiles. In earlier sets the new variables read as fill values. If no new variable
// uses a new dimension, the error is ErrUsage, and no file changes. A session without records adds no variables.
func Append(ctx context.Context, c comm.Comm, name string, s *Schema, parts []Part, o *Options) (*Writer, error) {
	x, err := resume.Append(ctx, c, name, s.inner(), parts, (*dataset.Options)(o))
	if err != nil {
		return nil, err
	}
	return &Writer{x}, nil
}

// Put passes this rank's elements of one record of a decomposed variable, in map order. For a variable without a decomposition
// any number of ranks may pass the whole variable. If several ranks put it between two flushes, their bytes must be equal.
// Otherwise the flush fails, and its error names two ranks that differ. A put after a flush replaces earlier values. rec is 0
// for a fixed variable. T may differ from the variable's type in the file. If a value does not fit this type, the error names
// the element, and Put keeps none of the data. Put is not collective.
//
// By default Put copies the data, so the caller may reuse the slice at once. With another Options.Retain the caller lends the
// slice, and must not change it for as long as Retain requires.
//
// If the copy would exceed Options.Memory, Put waits for the background flush. If no flush is in progress, Put fails with
// ErrTooLarge and keeps none of the data, and the caller may repeat the Put after a Flush. A process that puts more data than
// Options.Memory between two flushes should lend data, flush more often, or raise the limit. In the process-centric layout
// Flush frees memory only if Options.Records is set.
func Put[T Number](w *Writer, v VarID, rec int64, data []T) error {
	return write.Put(w.inner(), v, rec, data)
}

// PutAt passes a part of one record of a variable without a decomposition: count[i] elements from start[i] along each dimension
// except the record dimension, in canonical order. In all other respects PutAt works like Put.
func PutAt[T Number](w *Writer, v VarID, rec int64, start, count []int64, data []T) error {
	return write.PutAt(w.inner(), v, rec, start, count, data)
}

// Create begins a dataset. Every rank of c passes the same name, schema and options, and its own parts. A rank without a part
// of a decomposition owns no elements of it. Subfiles are named name.0000 and so on. No file has its final name before Close.
// Collective.
func Create(ctx context.Context, c comm.Comm, name string, s *Schema, parts []Part, o *Options) (*Writer, error) {
	x, err := write.Create(ctx, c, name, s.inner(), parts, (*dataset.Options)(o))
	if err != nil {
		return nil, err
	}
	return &Writer{x}, nil
}

// FlushAsync starts to write all put data in the background and returns, so that the ranks can compute and put more data. The
// write finishes without another call. The data are in the file when the next Wait, FlushAsync, Flush or Close returns. Each of
// these calls waits for the previous flush, so at most one flush is in progress.
//
// Copies count against Options.Memory until they are written, and a Put that would exceed the limit waits. With LendUntilFlush,
// data stay lent until the next of these calls returns. A program that uses two sets of arrays in turn needs no copies.
//
// If the background write fails, the next of these calls returns the same error on all ranks, and the writer has failed. The
// write stops when ctx is done, so ctx must stay valid after FlushAsync returns. Abort stops the write too.
//
// The write uses Options.Workers workers. Fewer workers leave more cores to the ranks.
//
// Unless Options.Durability is DurableNone, FlushAsync also syncs large amounts of data in the background. Only Close waits for
// these syncs. FlushAsync commits nothing.
//
// Ranks that share no heap (MPI) exchange small pieces during the call, because the background never communicates. An
// aggregator keeps copies of these pieces, which count against Options.Memory of its process. If the copies would exceed the
// limit, the call waits until memory is free. Collective.
func (w *Writer) FlushAsync(ctx context.Context) error { return w.w.FlushAsync(ctx) }

// Wait waits for the end of the write that the last FlushAsync started, and returns its error. The state is then the same as
// after Flush. Collective.
func (w *Writer) Wait(ctx context.Context) error { return w.w.Wait(ctx) }

// SetAtt sets an attribute of a variable, or of the dataset if v is -1. The next Commit or Close commits the attribute. In an
// append, only a Commit with records or Close commits it. The manifest stores the attribute, and the headers of the files do
// not change, so other programs see it only after Convert. SetAtt cannot change _FillValue or attributes that the layout adds.
// If the attributes of all sessions together exceed 256 MiB, the error is ErrTooLarge. All ranks pass the same values.
// Collective.
func (w *Writer) SetAtt(ctx context.Context, v VarID, name string, value any) error {
	return w.w.SetAtt(ctx, v, name, value)
}

// Flush waits for the last FlushAsync and writes all data put since then. When Flush returns, the program may reuse data lent
// until Flush. If a process-centric writer does not know the number of records, Flush copies the data, and Close writes them.
// If the disk is full, all ranks may call Flush again, see Commit. Flush can return the HeldBackError of an earlier
// CommitAsync. Collective.
func (w *Writer) Flush(ctx context.Context) error { return w.w.Flush(ctx) }

// Commit flushes and commits all data put so far, as durably as Close, and the writer goes on. A reader that opens the dataset
// after the commit sees this state, even if the writer dies. Open readers keep their state.
//
// Commit commits complete records only. It stops before the first incomplete record, or fills incomplete records with fill
// values if Options.FillIncomplete is set. A record is incomplete if a rank has not put a variable that has values. A variable
// has values if any rank has put it in this session, or if an earlier session has put values other than fill values. A variable
// without values is filled, as in netCDF. Committed returns the number of committed records. If a put record is incomplete,
// Commit commits the records before it and returns a HeldBackError. The error names the first incomplete record and the missing
// data, and the writer goes on. The first Commit also commits the fixed variables, and fills those without values. A put of
// committed values is ErrUsage.
//
// Variable-centric subfiles grow in place, and so do uncompressed process-centric subfiles with Options.Records. In other cases
// each Commit with new records writes an additional set of subfiles, like an append. Convert merges the sets. Until Close the
// dataset has a log beside the manifest, see docs/format-manifest.md.
//
// After an error the writer has failed, and the previous commit is in force. After an InDoubtError this commit may be in force.
// After an UnfinishedError it is in force. If the only cause was a full disk (syscall.ENOSPC), all ranks can call Commit again
// when space is free, any number of times. The writer then keeps all put data, and lent data stay lent. Close without such a
// Commit returns the error again. A Commit can be repeated only on a local file system, and only for uncompressed data that no
// background write has handled. Collective.
func (w *Writer) Commit(ctx context.Context) error { return w.w.Commit(ctx) }

// CommitAsync is Commit in the background. It starts to write the put data, like FlushAsync, and returns. The next collective
// call (Wait, Flush, Commit, Close and their background forms) makes the commit, because the background never communicates.
// This call also returns the error of the commit. With a HeldBackError, the call has done its own work all the same. Values put
// before CommitAsync must not be put again. Collective.
func (w *Writer) CommitAsync(ctx context.Context) error { return w.w.CommitAsync(ctx) }

// Committed returns the number of committed records, including the records of earlier sessions.
func (w *Writer) Committed() int64 { return w.w.Committed() }

// Schema returns the schema of the dataset. After Append it is the schema in the files.
func (w *Writer) Schema() *Schema { return &Schema{w.w.Job.Schema} }

// Records returns the number of records that this rank knows of: records committed before this session, and records that this
// rank has put.
func (w *Writer) Records() int64 { return w.w.Puts.Records() }

// Count returns the number of elements of decomposition d that this rank owns. A slice for Put must have this length.
func (w *Writer) Count(d DecompID) int64 { return w.w.Job.Count(d) }

// Copies returns the size of the copies that the ranks of this process hold for this dataset. limit is Options.Memory. Copies
// is not collective.
func (w *Writer) Copies() (bytes, limit int64) { return w.w.Job.Copies() }

// Close writes the remaining data, fills all values that no rank has put, and commits the dataset. If Close fails, or ctx is
// done, no file gets its final name. Collective.
func (w *Writer) Close(ctx context.Context) error { return w.w.Close(ctx) }

// Abort ends the session and removes everything that is not committed. It is not collective: any rank may call it, also after
// an error.
func (w *Writer) Abort() { w.w.Abort() }
