package blob

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"context"
)

// A Writer is one rank's handle on a dataset under construction. Only that rank's goroutine may call its methods and Put.
type Writer struct{ w *write.Writer }

func (w *Writer) inner() *write.Writer {
	if w == nil {
		return nil
	}
	return w.w
}

// An UnfinishedError is an error after the commit. Readers already see the new dataset, but some files still lack their final
// names, or old files remain. Recover, or the next writer, finishes the work.
type UnfinishedError = dataset.UnfinishedError

// An InDoubtError is an error during the commit: the ranks lost contact, or undoing the commit failed too. Only the files show
// which dataset is in force. No file is removed.
type InDoubtError = dataset.InDoubtError

// A HeldBackError is returned by Commit when the first of the put records is incomplete in some variable. Commit has committed
// the records before it, and the writer can go on. All ranks get the same error.
type HeldBackError = write.HeldBackError

// A Part is one rank's share of one decomposition: its requests, in the order in which it puts the elements. An element that
// occurs twice is ErrUsage; with Options.Repeats the later value counts.
type Part = write.Part

// Append opens a committed dataset to add records. The number of ranks, the maps and the grouping may differ from
// earlier writers. If s is nil, Append uses the schema in the files: Writer.Schema and Schema.VarID give the variables' ids. The
// schema of a process-centric dataset has record variables only. The first record to put is Writer.Records. Readers see the
// previously committed state until Close. Collective.
//
// A variable-centric dataset grows in place if the same ranks wrote its last records with the same maps and grouping. Otherwise,
// and always in the process-centric layout, the records go to an additional set of subfiles. ErrExist means that another file
// already has the name of such a subfile. Readers see all sets as one dataset; Convert merges them. A dataset that another
// program wrote first gets a manifest.
//
// To add variables, take s from Reader.Extend of this dataset and define dimensions and variables in it, the same on all ranks.
// The records go to an additional set of subfiles; in earlier sets the new variables read as fill values. A new dimension that no
// new variable uses is ErrUsage, before any file changes. A session without records adds no variables.
func Append(ctx context.Context, c comm.Comm, name string, s *Schema, parts []Part, o *Options) (*Writer, error) {
	x, err := resume.Append(ctx, c, name, s.inner(), parts, (*dataset.Options)(o))
	if err != nil {
		return nil, err
	}
	return &Writer{x}, nil
}

// Put passes this rank's elements of one record of a decomposed variable, in map order. A variable without a decomposition is
// passed whole, by any number of ranks. If several ranks put it between two flushes, their bytes must be equal: a difference is
// an error of the flush that names both ranks. A put after a flush replaces earlier values. rec is 0 for a fixed variable. T may
// differ from the type in the file. If a value does not fit that type, the error names the element, and Put keeps none of the
// data. Put is not collective.
//
// Put copies data, so the caller may reuse the slice at once. With Options.Retain the caller lends the slice instead and must not
// change it for as long as Retain requires.
//
// If the copy would exceed Options.Memory, Put waits for a background flush. Without one under way, Put fails with ErrTooLarge
// and keeps none of the data; the caller may repeat the Put after a Flush. A process that puts more than that between two flushes
// should lend, flush more often, or raise Options.Memory. In the process-centric layout Flush frees memory only if
// Options.Records is set.
func Put[T Number](w *Writer, v VarID, rec int64, data []T) error {
	return write.Put(w.inner(), v, rec, data)
}

// PutAt passes part of one record of a variable without a decomposition: count[i] elements from start[i] along each dimension
// except the record dimension, in canonical order. Otherwise PutAt works like Put.
func PutAt[T Number](w *Writer, v VarID, rec int64, start, count []int64, data []T) error {
	return write.PutAt(w.inner(), v, rec, start, count, data)
}

// Create begins a dataset. Every rank of c passes the same name, schema and options, and its own parts. A decomposition without a
// part is empty on this rank. Subfiles are named name.0000 and so on. No file has its final name before Close. Collective.
func Create(ctx context.Context, c comm.Comm, name string, s *Schema, parts []Part, o *Options) (*Writer, error) {
	x, err := write.Create(ctx, c, name, s.inner(), parts, (*dataset.Options)(o))
	if err != nil {
		return nil, err
	}
	return &Writer{x}, nil
}

// FlushAsync starts to write all put data in the background and returns, so that the ranks can compute and put more. The write
// needs no further call to finish. The data are in the file when the next Wait, FlushAsync, Flush or Close returns. Each of these
// calls waits for the previous flush: at most one is under way.
//
// Copies of data being written count against Options.Memory until they are written; a Put that would exceed the limit waits. Lent
// data (Options.Retain LendUntilFlush) stay lent until then. With two sets of arrays, used in turn, nothing is copied.
//
// The next of these calls returns an error of the background write, the same on all ranks; the writer has then failed. The write
// stops when ctx is done, so ctx must outlive the call. Abort stops the write too.
//
// The write uses Options.Workers workers; fewer workers leave cores to ranks that compute.
//
// With Options.Durability other than DurableNone, FlushAsync also syncs large amounts in the background; only Close waits for the
// sync. Nothing is committed before Close.
//
// Ranks that share no heap (MPI) exchange small pieces during the call, since the background never communicates. An aggregator
// keeps copies of the pieces, which count against Options.Memory of its process. If they exceed the limit, the call waits until
// memory is free. Collective.
func (w *Writer) FlushAsync(ctx context.Context) error { return w.w.FlushAsync(ctx) }

// Wait waits until the write that the last FlushAsync started has ended, and returns its error. Afterwards the state is the same
// as after Flush. Collective.
func (w *Writer) Wait(ctx context.Context) error { return w.w.Wait(ctx) }

// SetAtt sets an attribute of a variable, or of the dataset if v is -1. The next Commit or Close commits it. In an append, the
// first Commit that has records commits it, or Close. The attribute is stored in the manifest, and the file headers do not
// change: other programs do not see it before Convert. SetAtt cannot change _FillValue or attributes that the layout adds. The
// attributes of all sessions together have at most 256 MiB; more is ErrTooLarge. All ranks pass the same values. Collective.
func (w *Writer) SetAtt(ctx context.Context, v VarID, name string, value any) error {
	return w.w.SetAtt(ctx, v, name, value)
}

// Flush waits for the last FlushAsync and writes all data put since. When Flush returns, data lent until Flush may be reused. A
// process-centric writer that does not know the number of records copies the data instead and writes them at Close. If space is
// lacking, all ranks may call Flush again, see Commit. Flush can return the HeldBackError of an earlier CommitAsync. Collective.
func (w *Writer) Flush(ctx context.Context) error { return w.w.Flush(ctx) }

// Commit flushes and commits all data put so far, as durably as Close would, and the writer goes on. A reader that opens the
// dataset from now on sees this state, even if the writer dies. Open readers keep their state.
//
// Commit commits only whole records. It stops before the first incomplete record, or fills incomplete records with fill values if
// Options.FillIncomplete is set. A record is incomplete if some rank has not put a variable that has values. A variable has
// values if any rank has put it in this session, or if an earlier session has put values other than fill values. A variable
// without values is filled, as in netCDF. Committed returns the number of committed records. If put records are incomplete,
// Commit commits the records before them and returns a HeldBackError. The error names the first incomplete record and the missing
// data; the writer goes on. The first Commit commits the fixed variables and fills those without values. Committed values cannot
// be put again: a later put is ErrUsage.
//
// Variable-centric subfiles grow in place, and so do uncompressed process-centric subfiles with Options.Records. Otherwise each
// Commit with new records writes an additional set of subfiles, as an append does; Convert merges the sets. Until Close the
// dataset has a log beside the manifest, see docs/format-manifest.md.
//
// After an error the writer has failed, and the previous commit is in force. After an InDoubtError this commit may be in force;
// after an UnfinishedError it is. If only space was lacking (syscall.ENOSPC), all ranks can call Commit again when space is free,
// any number of times: the writer keeps all put data, and lent data stay lent. Close without such a Commit returns the error
// again. This holds on a local file system, for uncompressed data that were not left to the background. Collective.
func (w *Writer) Commit(ctx context.Context) error { return w.w.Commit(ctx) }

// CommitAsync is Commit in the background: it starts to write the put data, as FlushAsync does, and returns. The next collective
// call (Wait, Flush, Commit, Close and their background forms) makes the commit, since the background never communicates. That
// call also returns the commit's error; with a HeldBackError, the call has still done its own work. Values put before CommitAsync
// must not be put again. Collective.
func (w *Writer) CommitAsync(ctx context.Context) error { return w.w.CommitAsync(ctx) }

// Committed returns the number of committed records, including earlier sessions.
func (w *Writer) Committed() int64 { return w.w.Committed() }

// Schema returns the schema of the dataset. After Append it is the schema in the files.
func (w *Writer) Schema() *Schema { return &Schema{w.w.Job.Schema} }

// Records returns the number of records that this rank knows: those committed before this session, and those that this rank has
// put.
func (w *Writer) Records() int64 { return w.w.Puts.Records() }

// Count returns the number of elements of decomposition d that this rank owns. Put requires a slice of this length.
func (w *Writer) Count(d DecompID) int64 { return w.w.Job.Count(d) }

// Copies returns the size of the copies that the ranks of this process hold for this dataset, and the limit, Options.Memory. Not
// collective.
func (w *Writer) Copies() (bytes, limit int64) { return w.w.Job.Copies() }

// Close writes the remaining data, fills all values never put, and commits the dataset. If Close fails, or ctx is done, no file
// gets its final name. Collective.
func (w *Writer) Close(ctx context.Context) error { return w.w.Close(ctx) }

// Abort ends the session and removes everything that Commit has not committed. It is not collective: any rank may call it, also
// after an error.
func (w *Writer) Abort() { w.w.Abort() }
