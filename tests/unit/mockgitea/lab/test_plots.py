from mockgitea.lab.plots import POINTS_MAX, Frame, Line, bar_plot, line_plot, thinned


def test_a_plot_without_points_is_a_sentence() -> None:
    assert "Nothing was seen" in line_plot([Line("a", [], 0)], Frame(title="t", x="x", y="y"))


def test_curves_lie_inside_the_frame_from_zero_to_the_top() -> None:
    drawn = line_plot([Line("a", [(0.0, 0.0), (10.0, 100.0)], 0)], Frame(title="t", x="x", y="y"))
    assert 'points="58.0,220.0 746.0,12.0"' in drawn


def test_hostile_names_are_escaped() -> None:
    drawn = line_plot([Line("<b>", [(0, 1)], 0)], Frame(title='"<i>', x="<x>", y="<y>"))
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
