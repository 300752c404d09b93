from mockgitea.lab.plots import POINTS_MAX, Frame, Line, bar_plot, line_plot, thinned


def test_a_plot_without_points_is_a_sentence() -> None:
    assert "Nothing was seen" in line_plot([Line("a", [], 0)], Frame(told="words", title="t", x="x", y="y"))


def test_curves_lie_inside_the_frame_from_zero_to_the_top() -> None:
    drawn = line_plot([Line("a", [(0.0, 0.0), (10.0, 100.0)], 0)], Frame(told="words", title="t", x="x", y="y"))
    assert 'points="58.0,220.0 746.0,12.0"' in drawn


def test_hostile_names_are_escaped() -> None:
    drawn = line_plot([Line("<b>", [(0, 1)], 0)], Frame(told="words", title='"<i>', x="<x>", y="<y>"))
    drawn += bar_plot([("<b>", 1.0, 0)], title="<i>")
    for tag in ("<b>", "<i>", "<x>", "<y>"):
        assert tag not in drawn


def test_long_series_are_thinned_to_means() -> None:
    points = thinned([1.0, 3.0] * POINTS_MAX)
    assert len(points) == POINTS_MAX
    assert {y for _, y in points} == {2.0}


def test_bars_grow_with_their_values_and_survive_zero() -> None:
    drawn = bar_plot([("a", 10.0, 0), ("b", 0.0, 1)], title="t")
    assert 'width="500.0"' in drawn
    assert 'width="1.0"' in drawn


def test_peaks_survive_thinning_where_a_herd_is_looked_for() -> None:
    points = thinned([0.0, 200.0, 0.0, 0.0] * POINTS_MAX, is_peak=True)
    assert {y for _, y in points} == {200.0}


def test_a_shaded_stretch_says_what_it_is_in_words_and_in_the_legend() -> None:
    frame = Frame(title="t", told="a: much", x="x", y="y", shaded=[(2.0, 4.5)])
    drawn = line_plot([Line("a", [(0, 1), (9, 2)], 0)], frame)
    assert 'aria-label="t: a: much"' in drawn
    assert "<title>server down, 2 s to 4.5 s</title>" in drawn
    assert ">server down</li>" in drawn
    assert "server down" not in line_plot([Line("a", [(0, 1)], 0)], Frame(title="t", told="", x="x", y="y"))
