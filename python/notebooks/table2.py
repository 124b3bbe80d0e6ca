"""Notebook: a published table reproduced, one thing changed, a figure for a paper. `marimo edit table2.py` opens it."""

import marimo

app = marimo.App()


@app.cell
def _():
    import os

    import williwaw
    from williwaw import plot

    repetitions = int(os.environ.get("REPETITIONS", "10000"))
    return plot, repetitions, williwaw


@app.cell
def _(williwaw):
    # Table 2 of the study of Eifel over GPRS: published beside measured.
    table = williwaw.reproduce("gprs-eifel/table2", repetitions=100)
    table
    return (table,)


@app.cell
def _(williwaw):
    # One thing changed: a link of 60 kbit/s in place of 30. The most difficult weather only.
    scenario = williwaw.Scenario.of_experiment("gprs-eifel/table2").set(
        {"hop.radio.rate": "60 kbit/s", "hop.radio.gate.reselection.every": "uniform(20 s, 40 s)"}
    )
    scenario
    return (scenario,)


@app.cell
def _(repetitions, scenario, williwaw):
    run = williwaw.run(scenario, repetitions=repetitions)
    run
    return (run,)


@app.cell
def _(plot, run):
    figure = plot.cdf(run, "download_time_s", width="page")
    figure.savefig("table2.pdf")
    figure
    return (figure,)


if __name__ == "__main__":
    app.run()
