//! Arrow tables over the C stream interface: rows of a sweep and time series.
//!
//! A stream can be taken any number of times; each consumer gets batches that are made as it asks for them.

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader,
    StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use lab::series::{SERIES, Sample};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use results::{Header, Row};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of one batch.
const BATCH: usize = 1 << 16;

/// A table that is at hand.
#[pyclass(frozen, module = "williwaw._core")]
pub(crate) struct Stream {
    batch: RecordBatch,
}

#[pymethods]
impl Stream {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer's wish for other types may be ignored (Arrow PyCapsule interface).
        drop(requested_schema);
        let batches = vec![Ok(self.batch.clone())];
        capsule(py, Box::new(RecordBatchIterator::new(batches, self.batch.schema())))
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }
}

/// A stream as the capsule that the Arrow PyCapsule interface asks for.
fn capsule(py: Python<'_>, reader: Box<dyn RecordBatchReader + Send>) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

fn wrong(error: &ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Time series in long form: time, series, subject, value.
pub(crate) fn of_samples(samples: &[Sample]) -> PyResult<Stream> {
    let words = |word: fn(&Sample) -> &str| {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        samples.iter().for_each(|sample| builder.append_value(word(sample)));
        Arc::new(builder.finish()) as ArrayRef
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Float64Array::from_iter_values(samples.iter().map(|s| s.t))),
        words(|s| s.series),
        words(|s| &s.subject),
        Arc::new(Float64Array::from_iter_values(samples.iter().map(|s| s.value))),
    ];
    let text = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let units = SERIES.iter().map(|(name, unit, _)| ((*name).to_owned(), (*unit).to_owned()));
    let schema = Schema::new(vec![
        Field::new("t_s", DataType::Float64, false),
        Field::new("series", text.clone(), false).with_metadata(units.collect::<BTreeMap<String, String>>()),
        Field::new("subject", text, false),
        Field::new("value", DataType::Float64, false),
    ]);
    let batch = RecordBatch::try_new(Arc::new(schema), columns).map_err(|e| wrong(&e))?;
    Ok(Stream { batch })
}

/// The schema of a table of rows: the columns of `flows.parquet`, or short names for the grid.
fn schema(header: &Header, short: bool) -> SchemaRef {
    let params = header.param_columns();
    let paths: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
    let names =
        if short { results::names::short(&paths) } else { paths.iter().map(|p| (*p).to_owned()).collect() };
    let mut fields = vec![
        Field::new("cell", DataType::Int32, false),
        Field::new("repetition", DataType::Int64, false),
        Field::new("flow", DataType::Utf8, false),
    ];
    for (param, name) in params.iter().zip(names) {
        let kind = if param.is_number { DataType::Float64 } else { DataType::Utf8 };
        let path = BTreeMap::from([("path".to_owned(), param.name.clone())]);
        fields.push(Field::new(name, kind, true).with_metadata(path));
    }
    for column in &header.columns {
        let about = [("unit", column.unit.clone()), ("combine", column.combine.to_string())];
        let about: BTreeMap<String, String> =
            about.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        fields.push(Field::new(&column.name, DataType::Float64, true).with_metadata(about));
    }
    let about = [
        ("williwaw.schema", header.schema.clone()),
        ("williwaw.version", header.version.clone()),
        ("williwaw.scenario_hash", header.scenario_hash.clone()),
        ("williwaw.seed", header.seed.to_string()),
    ];
    let about: BTreeMap<String, String> =
        about.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Arc::new(Schema::new_with_metadata(fields, about))
}

fn batch(header: &Header, schema: &SchemaRef, rows: &[Row]) -> Result<RecordBatch, ArrowError> {
    // Cells and repetitions were checked against the header.
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.cell as i32))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.repetition as i64))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.flow))),
    ];
    // Rows of one cell stand together.
    let stretches: Vec<_> =
        rows.chunk_by(|a, b| a.cell == b.cell).map(|rows| (header.cell(rows[0].cell), rows.len())).collect();
    for param in header.param_columns() {
        let values = stretches.iter().flat_map(|(cell, many)| {
            let value = cell.as_ref().and_then(|cell| cell.param(&param.name));
            std::iter::repeat_n(value, *many)
        });
        columns.push(if param.is_number {
            Arc::new(values.map(|value| value.and_then(|v| v.parse::<f64>().ok())).collect::<Float64Array>())
        } else {
            Arc::new(values.collect::<StringArray>())
        });
    }
    for at in 0..header.columns.len() {
        let values = rows.iter().map(|row| row.values[at].filter(|value| value.is_finite()));
        columns.push(Arc::new(values.collect::<Float64Array>()));
    }
    RecordBatch::try_new(Arc::clone(schema), columns)
}

/// Rows as a stream of batches.
pub(crate) fn of_rows<'py>(
    py: Python<'py>,
    header: &Arc<Header>,
    rows: &Arc<Vec<Row>>,
    short: bool,
) -> PyResult<Bound<'py, PyCapsule>> {
    let (header, rows) = (Arc::clone(header), Arc::clone(rows));
    let schema = schema(&header, short);
    let of = Arc::clone(&schema);
    let batches = (0..rows.len()).step_by(BATCH).map(move |from| {
        let until = rows.len().min(from + BATCH);
        batch(&header, &of, &rows[from..until])
    });
    capsule(py, Box::new(RecordBatchIterator::new(batches, schema)))
}
